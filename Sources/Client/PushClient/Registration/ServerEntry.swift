import Envelope
import FoundationEssentials
import Tasks

/// A server's state in a ``RegistrationPlan``.
struct ServerEntry: Codable, Equatable, Sendable {
    /// After this time a confirmed registration is sent again, because a server may have lost it: it was restored from a backup, or has
    /// removed what nobody renewed for half a year.
    static let renewalInterval = Duration.seconds(7 * 24 * 60 * 60)

    /// How long the reply to a request counts as on its way, if nobody records what came of it.
    private static let longestWait = Duration.seconds(60)

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
        /// Only in states of versions up to 0.3.0, which gave up after twenty failures. Retries go on.
        case gaveUp
    }

    let server: PublicKey
    /// Whether the installation is to be registered on the server, or to be unregistered.
    var isWanted: Bool
    /// The newest confirmed generation, which is the content that the server has.
    private(set) var confirmedGeneration: Int?
    private(set) var confirmedVersion: UInt64?
    /// When the confirmed request was sent. Nil in states of versions up to 0.3.0.
    private var confirmedAt: Timestamp?
    /// The newest request, until its reply arrives. Replies to earlier requests do not count, because the server may have other content by
    /// now.
    private(set) var pending: Request?
    /// Until when somebody waits for the reply to the newest request. Meanwhile another client over the same state does not renew.
    private var awaitedUntil: Timestamp?
    /// Whether any request was ever sent to the server.
    private(set) var isTold = false
    /// The number of consecutive failures of the server.
    private var failureCount = 0
    /// The number of failures of the node since then. Nil while the node works.
    private var nodeFailureCount: Int?
    /// The number of consecutive version mismatches.
    private(set) var mismatchCount = 0
    /// When to try next. Nil means now.
    private var nextAttempt: Timestamp?
    private var stop: Stop?

    init(server: PublicKey, isWanted: Bool) {
        self.server = server
        self.isWanted = isWanted
    }

    func isUpToDate(_ generation: Int) -> Bool {
        isWanted && confirmedGeneration == generation
    }

    /// When the server had the registration for the last time that this client knows of. The version of a state up to 0.3.0 is the time
    /// of its request.
    var confirmationTime: Timestamp? { confirmedAt ?? confirmedVersion.map(RegistrationPlan.time(of:)) }

    /// Whether there is something to send now, apart from the back-off: another content than the server has, or a renewal.
    func needsRequest(at now: Timestamp, generation: Int) -> Bool {
        rejection == nil && (!isUpToDate(generation) || renewal(after: now) <= now)
    }

    /// When to renew a confirmed registration. A confirmation from the future says nothing: the clock was wrong.
    private func renewal(after now: Timestamp) -> Timestamp {
        guard let confirmationTime, confirmationTime <= now else { return now }
        return confirmationTime.advanced(by: Self.renewalInterval)
    }

    /// Whether a renewal is on its way.
    func isRenewing(at now: Timestamp, generation: Int) -> Bool {
        isUpToDate(generation) && awaitedUntil.map { !$0.isOver(at: now, length: Self.longestWait) } == true
    }

    func isDue(at now: Timestamp, generation: Int) -> Bool {
        attempt(after: now, generation: generation).map { $0 <= now } == true
    }

    /// Returns when the next request to the server is due, or nil if retries have stopped.
    func attempt(after now: Timestamp, generation: Int) -> Timestamp? {
        guard rejection == nil else { return nil }
        let renewing = isRenewing(at: now, generation: generation) ? awaitedUntil : nil
        let due = isUpToDate(generation) ? max(renewal(after: now), renewing ?? now, now) : now
        // A wait longer than any delay means that the clock was set back.
        guard let nextAttempt, nextAttempt <= now.advanced(by: BackOff.server.longest) else { return due }
        return max(due, nextAttempt)
    }

    /// Why retries have stopped, or nil.
    private var rejection: RegistrationRejection? { if case .rejected(let rejection) = stop { rejection } else { nil } }

    /// Resets the failures, because there is a new request to try.
    mutating func startOver() {
        failureCount = 0
        nodeFailureCount = nil
        mismatchCount = 0
        nextAttempt = nil
        stop = nil
    }

    mutating func note(_ request: Request) {
        // An unregistration may take effect from here on.
        if request.generation == nil { forgetConfirmation() }
        pending = request
        awaitedUntil = request.sentAt.advanced(by: Self.longestWait)
        isTold = true
    }

    /// Records that the newest request has a reply.
    mutating func noteReply() { (pending, awaitedUntil) = (nil, nil) }

    /// Forgets the confirmation, because the server may have another content now.
    mutating func forgetConfirmation() { confirmedGeneration = nil }

    /// Records a confirmed request. From now on, the server rejects all earlier requests.
    mutating func confirm(_ request: Request) {
        confirmedGeneration = request.generation
        confirmedVersion = request.version
        confirmedAt = request.sentAt
        startOver()
    }

    /// Records that the server finds the version too low, and that the next request follows at once with a higher one.
    mutating func noteMismatch() {
        mismatchCount &+= 1
        nextAttempt = nil
    }

    /// Records that the server would reject the same request again.
    mutating func reject(_ rejection: RegistrationRejection) { stop = .rejected(rejection) }

    /// Records a failure that may pass.
    ///
    /// - Parameter isOfNode: Whether the node failed, which says nothing about the server.
    /// - Returns: The time until the next attempt.
    mutating func fail(isOfNode: Bool, at now: Timestamp, using random: inout some RandomNumberGenerator) -> Duration {
        awaitedUntil = nil
        let delay: Duration
        if isOfNode {
            let count = (nodeFailureCount ?? 0) &+ 1
            nodeFailureCount = count
            delay = BackOff.node.delay(afterFailures: count, using: &random)
        } else {
            nodeFailureCount = nil
            failureCount &+= 1
            delay = BackOff.server.delay(afterFailures: failureCount, using: &random)
        }
        nextAttempt = now.advanced(by: delay)
        return delay
    }

    /// Records that the node works again: a request that waits for it is due now.
    mutating func noteRecovery() {
        guard nodeFailureCount != nil else { return }
        nodeFailureCount = nil
        nextAttempt = nil
    }

    func status(generation: Int) -> ServerStatus {
        let phase: ServerStatus.Phase =
            if let rejection {
                .rejected(rejection)
            } else if isUpToDate(generation) {
                .registered
            } else {
                isWanted ? .registering : .unregistering
            }
        return ServerStatus(
            server: server, phase: phase, version: confirmedVersion,
            confirmedAt: confirmationTime.map { Date(timeIntervalSince1970: Double($0.nanoseconds) / 1e9) },
            failureCount: failureCount &+ (nodeFailureCount ?? 0))
    }
}
