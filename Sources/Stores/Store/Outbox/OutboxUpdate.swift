package import Bytes
package import Envelope
import PushProtocol
import StatusCrypto
package import Wire

/// Changes to pushes and to the evidence about their device tokens, for a single transaction.
package struct OutboxUpdate: Sendable {
    /// A change to an open push. A finished push keeps its outcome.
    package enum PushChange: Sendable {
        /// The push finishes. The store erases its secrets.
        case finish(PushOutcome)
        /// The attempt failed, or is uncertain (`isUnknown`). A retry is due at that time.
        case retry(at: Timestamp, isUnknown: Bool)
        /// No attempt was made. The push returns to its state before a mark, and is due at that time, or at once.
        case release(OpenPushState, until: Timestamp? = nil)
    }

    package struct Push: Sendable {
        package var id: Int64
        package var change: PushChange
        /// Why the push finishes, is retried or waits, for operators. Nil if there is no reason. A push that is released keeps its own
        /// then.
        package var reason: PushReason?
        /// What Apple or Google said to the attempt that has ended, on a short line without tokens, or nil if neither did. A push that
        /// is released keeps the words about its newest attempt.
        package var words: String?
        /// The push's refusals, or nil if they don't change.
        package var refusals: PushRefusals?
        /// The attempt that has ended, or nil if there was none.
        package var attempt: Attempt?
        /// The slot that a finished push gives back, or nil if it is not known.
        package var slot: OutboxSlot?

        package init(
            id: Int64, _ change: PushChange, reason: PushReason? = nil, words: String? = nil, refusals: PushRefusals? = nil,
            attempt: Attempt? = nil, slot: OutboxSlot? = nil
        ) {
            self.id = id
            self.change = change
            self.reason = reason
            self.words = words
            self.refusals = refusals
            self.attempt = attempt
            self.slot = slot
        }
    }

    /// An attempt that has ended. The numbers are those after it, so that a change may be written twice.
    package struct Attempt: Sendable, Equatable {
        /// The number of attempts, this one included.
        package var count: Int
        /// The monotonic time of its request.
        package var at: Timestamp
        package var uncertain: UncertainAttempts

        package init(count: Int, at: Timestamp, uncertain: UncertainAttempts = UncertainAttempts()) {
            (self.count, self.at, self.uncertain) = (count, at, uncertain)
        }
    }

    /// A change to the evidence about a device token. A digest is the SHA-256 over a token and its bundle id (``QueuedPush/targetDigest``).
    package enum TokenChange: Sendable {
        /// The token was refused on a route. Replaces an earlier suspicion.
        case suspect(Digest32, Suspicion, route: String)
        /// The token is no longer suspected: Apple or Google has accepted a push, or the token is dead.
        case clearSuspicion(Digest32)
        /// Apple or Google has accepted a push for that registration.
        case delivered(TargetRegistration)
        /// Apple or Google has accepted a push for a token without registration, such as a gateway's.
        case deliveredToken(Digest32)
        /// The token is dead, and its registrations are unregistered.
        case unregister(DeadToken)
        /// The device never worked, and its waiting pushes end for that reason.
        case expirePushes(to: DeviceCode, route: String, reason: PushReason)
    }

    /// The changes to pushes, at most one for each push.
    package var pushes: [Push] = []
    package var tokens: [TokenChange] = []
    /// The bundle ids for which Apple accepted a push, with the push's route.
    package var deliveredBundleIDs: [(route: String, apnTopic: String)] = []
    /// Whether another session is known to have held rows of these pushes. The update does not wait for such rows then.
    package var skipsLockedRows = false

    package init() {}
}

/// What an update has done.
package struct UpdatedOutbox: Sendable {
    /// The registrations that were unregistered because their token is dead.
    package var unregistered: [ChangedRegistration] = []
    /// The pushes that did not change, because another session of the database holds their rows.
    package var locked: Set<Int64> = []

    package init() {}
}

/// A dead device token, and the attempt that proved it.
///
/// A reinstalled app leaves its old registration, so several installations and keys may have the same token. The store unregisters all of
/// them that have the same bundle id. A client can register another owner's token with another bundle id, and a verdict on that pair does
/// not concern the device. The tombstones keep the versions, so owners can register again with higher versions. The store keeps a copy of
/// each registration for ``DeadRegistration/lifetime``.
package struct DeadToken: Sendable {
    package var token: DeviceToken
    package var type: TokenType
    /// The attempt's bundle id. Meaningless for Android.
    package var apnTopic: String
    /// The registration that was attempted. It is unregistered if its version is still the same. Nil if the push had none.
    package var tried: TargetRegistration?
    /// When the attempt was made. Other registrations from that time or later stay, because their token may be valid again.
    package var attemptedAt: Timestamp
    /// The reason, for `dead-tokens list`.
    package var reason: PushReason
    package var route: String

    package init(
        token: DeviceToken, type: TokenType, apnTopic: String, tried: TargetRegistration? = nil, attemptedAt: Timestamp, reason: PushReason,
        route: String
    ) {
        self.token = token
        self.type = type
        self.apnTopic = apnTopic
        self.tried = tried
        self.attemptedAt = attemptedAt
        self.reason = reason
        self.route = route
    }

    /// The dead token in each spelling under which rows may have it. New rows have the folded token's code, and older rows a code for the
    /// token as it was registered.
    package var spellings: [DeadToken] {
        guard type == .apn else { return [self] }
        return Set([token, token.folded(as: type), DeviceToken(token.text.uppercased())]).map { token in
            var spelling = self
            spelling.token = token
            return spelling
        }
    }
}
