package import Envelope
package import PushProtocol
package import StatusCrypto
package import Wire

/// Pushes from their acceptance until they end, each exactly once, in queues of their own for each route.
package protocol PushOutbox: Sendable {
    /// Takes the outbox over from the process before: to be called once, before the first lease.
    ///
    /// What was leased is of unknown outcome and due at once. A delay that ends after `latest` was set by a clock that went wrong: it
    /// ends now. Where `routes` are not those of before, open pushes are put into their new queues.
    ///
    /// - Returns: how many leases there were.
    func takeOverOutbox(routes: Set<RouteAssignment>, latest: Timestamp) async throws -> Int

    /// Pushes of a route whose next attempt is due: new ones first, one a target before the second of any, then the longest due; of the
    /// latter at least a quarter. Those that are leased are not among them. Each has the token that its device has registered by now.
    ///
    /// - Parameter route: the empty one is the queue in which pushes are put as long as there are no routes.
    func duePushes(route: String, at now: Timestamp, limit: Int) async throws -> [QueuedPush]

    /// When the next push of a route is due that is not leased; nil when there is none.
    func nextAttempt(route: String) async throws -> Timestamp?

    /// Makes pushes of a route due that wait after an attempt that failed for one of these reasons (``OutboxUpdate/Push/reason``), the
    /// oldest first. A call examines up to ``OutboxLimits/hastenedCount`` open pushes; leased ones stay as they are.
    ///
    /// - Parameter row: The result of the previous call, or 0 for the first.
    /// - Returns: The last row that was examined, or nil if there are no more.
    func retryNow(route: String, reasons: Set<String>, after row: Int64, at now: Timestamp) async throws -> Int64?

    /// Ends pushes of a route that were accepted before a time and are not leased, the oldest first.
    ///
    /// - Returns: how many ended.
    func expirePushes(route: String, acceptedBefore oldest: Timestamp, limit: Int, at now: Timestamp) async throws -> Int

    /// Writes what becomes of pushes and of the device tokens they went to, in one transaction.
    ///
    /// - Returns: the registrations that went with their tokens.
    func update(_ update: OutboxUpdate, at now: Timestamp) async throws -> [ChangedRegistration]

    /// Since when device tokens are suspected to be dead; those that are not are left out. Answers a cancelled task too: what is decided
    /// by it has still to be written.
    ///
    /// - Parameter tokens: their SHA-256.
    func suspicions(against tokens: [Digest32]) async throws -> [Digest32: Timestamp]

    /// The bundle ids that a push was ever delivered to, by route; '' for Android.
    func deliveredBundleIDs() async throws -> [String: Set<String>]

    /// How many pushes found as many waiting as may, and were refused, by route, since the store was opened.
    var refusedPushCounts: [String: Int] { get }

    /// How many pushes are open.
    func queuedPushCount() async throws -> Int

    /// How many pushes are open, by route.
    func queuedPushCounts() async throws -> [String: Int]

    /// When the push was accepted that has waited longest; nil when none waits.
    func oldestQueuedPush() async throws -> Timestamp?
}

package enum OutboxLimits {
    /// 1,000 open pushes that one call of ``PushOutbox/retryNow(route:reasons:after:at:)`` examines: some milliseconds of the writer.
    package static let hastenedCount = 1_000
}

/// How a push ended: the number is stored.
package enum PushOutcome: Int64, Sendable, CaseIterable {
    case sent = 1
    case expired = 2
    case deadToken = 3
    case refused = 4
    /// Accepted in dry run: never sent.
    case discarded = 5
    /// Taken back before it was sent: its device unregistered, or a gateway has told whoever asked for it that it failed.
    case withdrawn = 8

    package var milestone: Milestone {
        switch self {
        case .sent: .sent
        case .expired: .expired
        case .deadToken: .dead
        case .refused: .refused
        case .discarded: .discarded
        case .withdrawn: .withdrawn
        }
    }
}

/// Where an open push stands: the number is stored beside those of ``PushOutcome``.
package enum OpenPushState: Int64, Sendable, CaseIterable {
    case queued = 0
    /// An attempt is under way. There is one server to a database: a lease that is found at the start was left by a crash.
    case leased = 6
    /// The newest attempt may have reached the phone (RELIABILITY.md I2). Tried again, under the same collapse identifier.
    case unknown = 7
}

/// Names one attempt towards gorush, which repeats it in its logs and its feedback. Random: a forged feedback must not hit.
package typealias NotificationID = FixedBytes<16>

/// The registration that a push goes to, as it was when the push was read.
package struct TargetRegistration: Sendable, Equatable {
    package var row: Int64
    package var version: UInt64
    /// When Apple or Google last took a push for its token and bundle id, to the day; nil: never.
    package var deliveredAt: Timestamp?

    package init(row: Int64, version: UInt64, deliveredAt: Timestamp? = nil) {
        self.row = row
        self.version = version
        self.deliveredAt = deliveredAt
    }
}

/// A push that waits in the outbox.
package struct QueuedPush: Sendable, Equatable {
    package var id: Int64
    /// The row of the push request it came with.
    package var message: Int64
    package var push: AcceptedPush
    package var acceptedAt: Timestamp
    package var state: OpenPushState
    /// Attempts so far, but for those that certainly never began.
    package var attempts: Int
    /// What a gateway wants the phone to get; nil for a push of 71. Then only token, type and topic of `push` mean something.
    package var notification: GatewayNotification?
    /// Whose token it has; nil: there was none when it was accepted, it is a gateway's, or an older release accepted it.
    package var registration: TargetRegistration?
    /// The registration it was accepted for has ended, or is of another app now.
    package var isOrphan: Bool
    /// When Apple or Google last accepted a push for the token of a push without registration, to the day; nil if never.
    package var tokenDeliveredAt: Timestamp?
    /// nil if the token is not suspected to be dead.
    package var suspicion: Suspicion?

    package init(
        id: Int64, message: Int64, push: AcceptedPush, acceptedAt: Timestamp, state: OpenPushState = .queued, attempts: Int = 0,
        notification: GatewayNotification? = nil, registration: TargetRegistration? = nil, isOrphan: Bool = false,
        tokenDeliveredAt: Timestamp? = nil, suspicion: Suspicion? = nil
    ) {
        self.id = id
        self.message = message
        self.push = push
        self.acceptedAt = acceptedAt
        self.state = state
        self.attempts = attempts
        self.notification = notification
        self.registration = registration
        self.isOrphan = isOrphan
        self.tokenDeliveredAt = tokenDeliveredAt
        self.suspicion = suspicion
    }
}

extension QueuedPush {
    /// When Apple or Google last accepted a push for its token and bundle id, to the day; nil if never: the target is not proven.
    package var provenAt: Timestamp? { registration?.deliveredAt ?? tokenDeliveredAt }

    /// The SHA-256 of its device token and bundle id, under which both are suspected and proven. A verdict on a token with one bundle id
    /// says nothing about the token with another one, which anybody can register.
    package var targetDigest: Digest32 {
        let topic = push.tokenType == .apn ? push.apnTopic : ""
        return SHA256.hash(Array("\(push.tokenType.rawValue) \(topic) \(push.deviceToken.text)".utf8))
    }
}

/// A device token with one ambiguous verdict.
package struct Suspicion: Sendable, Equatable {
    /// When the first verdict came.
    package var since: Timestamp
    /// When a push was last posted to the token.
    package var triedAt: Timestamp

    package init(since: Timestamp, triedAt: Timestamp) {
        self.since = since
        self.triedAt = triedAt
    }
}

/// Which pushes stand in a queue of their own, so that none holds up another.
package struct RouteAssignment: Hashable, Sendable {
    package var tokenType: TokenType
    /// Empty: all topics that no other assignment of that type names.
    package var apnTopic: String
    package var route: String

    package init(tokenType: TokenType, apnTopic: String, route: String) {
        self.tokenType = tokenType
        self.apnTopic = apnTopic
        self.route = route
    }
}
