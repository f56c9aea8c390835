package import Envelope
package import StatusCrypto
package import Wire

/// What becomes of pushes, and of the device tokens they went to.
package struct OutboxUpdate: Sendable {
    /// What becomes of an open push. One that has ended keeps its first outcome.
    package enum PushChange: Sendable {
        /// An attempt begins. The whole update fails if the push has ended (``StoreError/alreadyEnded``) or is leased.
        case lease(NotificationID)
        /// No attempt is made before that time.
        case postpone(until: Timestamp)
        /// The push ends and keeps no secrets.
        case finish(PushOutcome)
        /// It is tried again after an attempt that failed, or whose outcome is not known.
        case retry(at: Timestamp, isUnknown: Bool)
        /// The lease is given back unused, to the state before it: nothing was sent, and the attempt does not count.
        case release(OpenPushState)
    }

    package struct Push: Sendable {
        package var id: Int64
        package var change: PushChange
        /// For `audit`: a word of ours, nothing that a peer or gorush said. Of ends, retries and what is put off.
        package var reason: String?
        /// The ciphertext is too long for Apple or Google, and the phone is to be woken all the same.
        package var dropsCiphertext: Bool

        package init(id: Int64, _ change: PushChange, reason: String? = nil, dropsCiphertext: Bool = false) {
            self.id = id
            self.change = change
            self.reason = reason
            self.dropsCiphertext = dropsCiphertext
        }
    }

    /// A device token and the bundle id it was tried with are named by their SHA-256.
    package enum TokenChange: Sendable {
        /// The token may be dead. An earlier suspicion keeps the time of its first verdict.
        case suspect(Digest32)
        /// A push is posted to a suspected token.
        case tried(Digest32)
        /// A push has arrived, or the verdict is in.
        case clearSuspicion(Digest32)
        /// Apple or Google has taken a push for that registration.
        case delivered(TargetRegistration)
        /// Apple or Google has accepted a push for a token without registration, such as a gateway's.
        case deliveredToken(Digest32)
        /// All registrations with it end.
        case unregister(DeadToken)
    }

    package var pushes: [Push] = []
    package var tokens: [TokenChange] = []
    /// Bundle ids that a push of a route was delivered to.
    package var deliveredBundleIDs: [(route: String, apnTopic: String)] = []

    package init() {}
}

/// A device token that turned out to be dead.
///
/// Re-installed apps leave their old registrations behind, so one token may be under several installations and keys. All of the same
/// bundle id go: anybody can register somebody else's token with another one, and the verdict on that says nothing of the device. Their
/// versions stay: the clients may register anew with higher ones. A copy of each registration is kept for ``DeadRegistration/lifetime``.
package struct DeadToken: Sendable {
    package var token: DeviceToken
    package var type: TokenType
    /// The bundle id it was tried with; means nothing for Android.
    package var apnTopic: String
    /// The registration that was tried: it goes if it still has the version that it had then.
    package var tried: TargetRegistration?
    /// When it was tried. Of the others, what was registered then or later stays: it may be the same token, alive again.
    package var attemptedAt: Timestamp
    /// A word of ours, for `dead-tokens list`.
    package var reason: String
    package var route: String

    package init(
        token: DeviceToken, type: TokenType, apnTopic: String, tried: TargetRegistration? = nil, attemptedAt: Timestamp, reason: String,
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
}
