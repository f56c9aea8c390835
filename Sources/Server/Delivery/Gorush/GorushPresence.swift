import Tasks

/// Whether gorush is there, asked at most once a second: answers that come within a second share what was found.
struct GorushPresence: Sendable {
    private static let validity = Duration.seconds(1)

    private enum State: Sendable {
        case unknown
        case asking
        case known(isThere: Bool, until: Duration)
    }

    private let state = Monitor(State.unknown)
    private let elapsed: @Sendable () -> Duration

    init(clock: some Clock<Duration>) {
        elapsed = clock.stopwatch()
    }

    /// - Parameter ask: Finds out whether gorush is there.
    func isThere(by ask: () async -> Bool) async -> Bool {
        let now = elapsed()
        let known: Bool?? = await state.wait { state in
            switch state {
            case .asking: return nil
            case .known(let isThere, let end) where now < end: return .some(.some(isThere))
            case .known, .unknown:
                state = .asking
                return .some(.none)
            }
        }
        // A cancelled attempt learns nothing: gorush counts as there, so that only its push waits.
        guard let known else { return true }
        if let known { return known }
        let isThere = await ask()
        let end = elapsed() + Self.validity
        state.update { $0 = .known(isThere: isThere, until: end) }
        return isThere
    }
}
