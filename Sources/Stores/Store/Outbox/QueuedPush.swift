package import Bytes
package import Envelope
package import PushProtocol
import StatusCrypto
package import Wire

package enum OutboxLimits {
    /// How many rows, from the newest, ``PushOutbox/recentDevices(route:since:limit:)`` reads. This takes about 20 ms at startup.
    package static let recentPushCount = 10_000
}

/// A push's outcome. The raw value is stored.
package enum PushOutcome: Int64, Sendable, CaseIterable {
    case sent = 1
    /// The push's lifetime passed, it made room in a full queue, its device was given up, or it was a call without an answer.
    case expired = 2
    case deadToken = 3
    case refused = 4
    /// The push was accepted in dry run and is never sent.
    case discarded = 5
    /// Given up: the installation unregistered, or a gateway has reported that its only attempt failed, which may have arrived all the
    /// same.
    case withdrawn = 8

    /// The event that the ledger counts for the outcome.
    package var milestone: Milestone {
        switch self {
        case .sent: .sent
        case .expired: .expired
        case .deadToken: .deadToken
        case .refused: .refused
        case .discarded: .discarded
        case .withdrawn: .withdrawn
        }
    }
}

/// An open push's state. The raw value is stored in the column that also holds a ``PushOutcome``.
package enum OpenPushState: Int64, Sendable, CaseIterable {
    case queued = 0
    /// A server of 0.3 makes an attempt, or has crashed in one.
    case leased = 6
    /// The newest attempt may have been sent (RELIABILITY.md I2): it has ended without an answer, is slow, or may be made once at most. The
    /// retry has the same collapse id.
    case unknown = 7
}

/// The attempts of a push that may have been sent.
package struct UncertainAttempts: Sendable, Equatable {
    /// How many got no answer.
    package var unansweredCount: Int
    /// How often the wait after one was shortened, because a device whose attempts got no answers was delivered to.
    package var broughtForwardCount: Int
    /// How many connections broke.
    package var brokenCount: Int

    package init(unansweredCount: Int = 0, broughtForwardCount: Int = 0, brokenCount: Int = 0) {
        (self.unansweredCount, self.broughtForwardCount, self.brokenCount) = (unansweredCount, broughtForwardCount, brokenCount)
    }

    /// How long gorush may work on a push after its request (GORUSH.md §2.5).
    package static let interval = Duration.seconds(150)
}

/// The deliveries to a device token with its bundle id.
package struct Deliveries: Sendable, Equatable {
    /// The time at which Apple or Google first accepted a push.
    package var first: Timestamp
    /// The time at which they last did, to the day.
    package var last: Timestamp

    package init(first: Timestamp, last: Timestamp) {
        self.first = first
        self.last = last
    }
}

/// The registration that a push goes to, as it was when the push was read.
package struct TargetRegistration: Sendable, Equatable {
    package var row: Int64
    package var version: UInt64
    package var deliveries: Deliveries?

    package init(row: Int64, version: UInt64, deliveries: Deliveries? = nil) {
        self.row = row
        self.version = version
        self.deliveries = deliveries
    }
}

/// An open push.
package struct QueuedPush: Sendable, Equatable {
    package var id: Int64
    /// The push request's row.
    package var request: Int64
    package var push: AcceptedPush
    package var acceptedAt: Timestamp
    package var state: OpenPushState
    /// The number of attempts that have ended.
    package var attempts: Int
    package var trust: PushTrust
    /// The device that its row names. Its target may have another token by now.
    package var device: DeviceCode
    /// Whether the push has waited for its time before its first attempt, so that others may have been merged into it.
    package var wasDeferred: Bool
    /// Whether the device of a call has got a push before.
    package var isCallToWorkingDevice: Bool
    package var uncertain: UncertainAttempts
    /// The notification if a gateway accepted the push. Then only the token, token type and bundle id in `push` are meaningful. Nil for a
    /// push of 71.
    package var notification: GatewayNotification?
    /// The target's registration, or nil if it no longer exists or never did, or if a gateway or an older release accepted the push.
    package var registration: TargetRegistration?
    /// What became of the registration that the push was accepted for, if it no longer goes there. Nil if it does, or had none.
    package var orphanReason: PushReason?
    /// The deliveries to the push's token if it is without registration, or nil if there were none.
    package var tokenDeliveries: Deliveries?
    /// The suspicion against the device token, or nil if none exists.
    package var suspicion: Suspicion?
    package var refusals: PushRefusals

    package init(
        id: Int64, request: Int64, push: AcceptedPush, acceptedAt: Timestamp, state: OpenPushState = .queued, attempts: Int = 0,
        trust: PushTrust = .proven, device: DeviceCode = DeviceCode(), wasDeferred: Bool = false, isCallToWorkingDevice: Bool = true,
        uncertain: UncertainAttempts = UncertainAttempts(), notification: GatewayNotification? = nil,
        registration: TargetRegistration? = nil, orphanReason: PushReason? = nil,
        tokenDeliveries: Deliveries? = nil, suspicion: Suspicion? = nil, refusals: PushRefusals = PushRefusals()
    ) {
        self.id = id
        self.request = request
        self.push = push
        self.acceptedAt = acceptedAt
        self.state = state
        self.attempts = attempts.asCountOfAttempts
        self.trust = trust
        self.device = device
        self.wasDeferred = wasDeferred
        self.isCallToWorkingDevice = isCallToWorkingDevice
        self.uncertain = uncertain
        self.notification = notification
        self.registration = registration
        self.orphanReason = orphanReason
        self.tokenDeliveries = tokenDeliveries
        self.suspicion = suspicion
        self.refusals = refusals
    }
}

extension QueuedPush {
    /// Returns why a push no longer goes to the registration that it was accepted for, or nil if it does.
    ///
    /// - Parameters:
    ///   - type: The registration's token type, or nil if it has ended.
    ///   - topic: The registration's bundle id, which only Apple's tokens belong to.
    package static func orphanReason(
        of push: (type: TokenType, topic: String), registeredAs type: TokenType?, topic: String?
    ) -> PushReason? {
        guard let type else { return .unregistered }
        if type != push.type { return .otherTokenType }
        return type == .apn && topic != push.topic ? .otherApp : nil
    }

    /// The slot that the push has in its route's queue.
    package func slot(in route: String) -> OutboxSlot {
        OutboxSlot(route: route, trust: trust, hasWorked: trust == .call ? isCallToWorkingDevice : trust == .proven)
    }

    private var deliveries: Deliveries? { registration?.deliveries ?? tokenDeliveries }

    /// The time at which Apple or Google first accepted a push for its token and bundle id, or nil if the target is unproven.
    package var provenAt: Timestamp? { deliveries?.first }

    /// The time at which Apple or Google last accepted a push for them, to the day, or nil if never.
    package var deliveredAt: Timestamp? { deliveries?.last }

    /// ``DeviceToken/targetDigest(as:apnTopic:)`` of the token that is registered now.
    package var targetDigest: Digest32 { push.targetDigest }
}

/// The assignment of pushes to a route's queue. Routes do not delay each other.
package struct RouteAssignment: Hashable, Sendable {
    package var tokenType: TokenType
    /// The bundle id, or empty for all bundle ids with that token type that aren't assigned separately.
    package var apnTopic: String
    package var route: String

    package init(tokenType: TokenType, apnTopic: String, route: String) {
        self.tokenType = tokenType
        self.apnTopic = apnTopic
        self.route = route
    }
}
