import Concurrency
import Envelope

/// What a ``RegistrationPlan`` knows of one server.
struct ServerEntry: Codable, Equatable, Sendable {
    /// A request that was sent.
    struct Request: Codable, Equatable, Sendable {
        /// SHAKE-256 of the encrypted registration, in hex.
        let requestID: String
        let version: UInt64
        /// What the server was told; nil: to forget.
        let generation: Int?
    }

    /// Why nothing more is tried.
    enum Stop: Codable, Equatable, Sendable {
        case refused(RegistrationRefusal)
        case gaveUp
    }

    /// Requests whose late answers still count: all that are sent in a quarter of an hour of silence.
    private static let maximumRequestCount = 8

    let server: IdentityKey
    /// Whether the server is to know the installation, or to forget it.
    var isWanted: Bool
    /// The newest request that the server confirmed: what it knows.
    private(set) var confirmedGeneration: Int?
    private(set) var confirmedVersion: UInt64?
    /// Unanswered, the newest last.
    private(set) var requests: [Request] = []
    /// In a row.
    var failureCount = 0
    /// In a row.
    var mismatchCount = 0
    /// Nil: at once.
    var nextAttempt: Timestamp?
    var stop: Stop?

    init(server: IdentityKey, isWanted: Bool) {
        self.server = server
        self.isWanted = isWanted
    }

    /// Whether nothing was ever sent to it.
    var isUntold: Bool { requests.isEmpty && confirmedVersion == nil }

    func isUpToDate(_ generation: Int) -> Bool {
        isWanted && confirmedGeneration == generation
    }

    func isDue(at now: Timestamp, generation: Int) -> Bool {
        attempt(after: now, generation: generation).map { $0 <= now } == true
    }

    /// When there is something to say to the server; nil if there is not.
    func attempt(after now: Timestamp, generation: Int) -> Timestamp? {
        guard !isUpToDate(generation), stop == nil else { return nil }
        // A clock that was set back must not put it off for longer than any back-off.
        return min(max(nextAttempt ?? now, now), now.advanced(by: BackOff.registering.longest))
    }

    /// Forgets failures: there is something new to try.
    mutating func startOver() {
        failureCount = 0
        mismatchCount = 0
        nextAttempt = nil
        stop = nil
    }

    mutating func note(_ request: Request) {
        // From here on the server may know nothing.
        if request.generation == nil { forgetConfirmation() }
        requests.append(request)
        if requests.count > Self.maximumRequestCount { requests.removeFirst() }
    }

    /// The server may know something else than it confirmed.
    mutating func forgetConfirmation() { confirmedGeneration = nil }

    /// The server confirmed a request, and so refuses all earlier ones.
    mutating func confirm(_ request: Request) {
        requests.removeAll { $0.version <= request.version }
        guard request.version > confirmedVersion ?? 0 else { return }
        confirmedGeneration = request.generation
        confirmedVersion = request.version
        startOver()
    }

    func status(generation: Int) -> ServerStatus {
        let phase: ServerStatus.Phase =
            switch stop {
            case .refused(let refusal): .refused(refusal)
            case .gaveUp: .gaveUp
            case nil where isUpToDate(generation): .registered
            case nil: isWanted ? .registering : .unregistering
            }
        return ServerStatus(server: server, phase: phase, version: confirmedVersion, failureCount: failureCount)
    }
}
