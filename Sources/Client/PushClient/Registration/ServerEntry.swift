import Envelope
import Tasks

/// A server's state in a ``RegistrationPlan``.
struct ServerEntry: Codable, Equatable, Sendable {
    /// A request that was sent, and its time.
    struct Request: Codable, Equatable, Sendable {
        /// The SHAKE-256 of the encrypted registration, in hex.
        var requestID: String
        let version: UInt64
        /// The content's generation, or nil for an unregistration.
        let generation: Int?
        let sentAt: Timestamp
    }

    /// The reason why retries have stopped.
    enum Stop: Codable, Equatable, Sendable {
        case rejected(RegistrationRejection)
        case gaveUp
    }

    let server: PublicKey
    /// Whether the installation is to be registered on the server, or to be unregistered.
    var isWanted: Bool
    /// The newest confirmed generation, which is the content that the server has.
    private(set) var confirmedGeneration: Int?
    private(set) var confirmedVersion: UInt64?
    /// The newest request, until its reply arrives. Replies to earlier requests do not count, because the server may have other content by
    /// now.
    private(set) var pending: Request?
    /// Whether any request was ever sent to the server.
    private(set) var isTold = false
    /// The number of consecutive failures.
    var failureCount = 0
    /// The number of consecutive version mismatches.
    var mismatchCount = 0
    /// When to try next. Nil means now.
    var nextAttempt: Timestamp?
    var stop: Stop?

    init(server: PublicKey, isWanted: Bool) {
        self.server = server
        self.isWanted = isWanted
    }

    func isUpToDate(_ generation: Int) -> Bool {
        isWanted && confirmedGeneration == generation
    }

    func isDue(at now: Timestamp, generation: Int) -> Bool {
        attempt(after: now, generation: generation).map { $0 <= now } == true
    }

    /// Returns when the next request to the server is due, or nil if there is nothing to send.
    func attempt(after now: Timestamp, generation: Int) -> Timestamp? {
        guard !isUpToDate(generation), stop == nil else { return nil }
        // A clock that was set back must not delay the request by more than the longest back-off.
        return min(max(nextAttempt ?? now, now), now.advanced(by: BackOff.registering.longest))
    }

    /// Resets the failures, because there is a new request to try.
    mutating func startOver() {
        failureCount = 0
        mismatchCount = 0
        nextAttempt = nil
        stop = nil
    }

    mutating func note(_ request: Request) {
        // An unregistration may take effect from here on.
        if request.generation == nil { forgetConfirmation() }
        pending = request
        isTold = true
    }

    /// Records that the newest request has a reply.
    mutating func noteReply() { pending = nil }

    /// Forgets the confirmation, because the server may have another content now.
    mutating func forgetConfirmation() { confirmedGeneration = nil }

    /// Records a confirmed request. From now on, the server rejects all earlier requests.
    mutating func confirm(_ request: Request) {
        confirmedGeneration = request.generation
        confirmedVersion = request.version
        startOver()
    }

    func status(generation: Int) -> ServerStatus {
        let phase: ServerStatus.Phase =
            switch stop {
            case .rejected(let rejection): .rejected(rejection)
            case .gaveUp: .gaveUp
            case nil where isUpToDate(generation): .registered
            case nil: isWanted ? .registering : .unregistering
            }
        return ServerStatus(server: server, phase: phase, version: confirmedVersion, failureCount: failureCount)
    }
}
