/// Refusals of gorush's own credentials by Apple or Google.
///
/// Times are monotonic and count from the delivery's start.
struct CredentialRefusals: Sendable {
    /// A single refusal between acceptances is no fault.
    static let interval = Duration.seconds(5)

    /// The refusals since credentials were last accepted, or nil if they were.
    private var current: (first: Duration, last: Duration)?
    private var alternation = Alternation()
    /// The newest words of Apple or Google.
    private(set) var words = ""

    mutating func refused(_ words: String, at now: Duration) {
        let first = current.flatMap { now - $0.last < Belief.validity ? $0.first : nil } ?? now
        current = (first, now)
        self.words = words
    }

    mutating func accepted(at now: Duration) {
        if let current { alternation.accepted(refusedSince: current.first, at: now) }
        current = nil
    }

    /// Whether none are accepted.
    func areAll(at now: Duration) -> Bool {
        guard let current, now - current.last < Belief.validity else { return false }
        return now - current.first >= (alternation.isSeen(at: now) ? Alternation.turnInterval : Self.interval)
    }

    /// Whether they are refused and accepted in turn.
    func areInTurn(at now: Duration) -> Bool { alternation.isSeen(at: now) && !areAll(at: now) }

    /// The times at which a conclusion changes without another attempt.
    var changes: [Duration] {
        guard let current else { return [] }
        return [current.first + Self.interval, current.first + Alternation.turnInterval, current.last + Belief.validity]
    }
}
