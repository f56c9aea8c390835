package import Envelope
package import StatusCrypto
package import Wire

/// What becomes of pushes, and of the device tokens they went to.
package struct OutboxUpdate: Sendable {
    /// What becomes of an open push. One that has ended keeps its first outcome.
    package enum PushChange: Sendable {
        /// An attempt begins. The whole update fails if the push has ended or is leased.
        case lease(NotificationID)
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
        /// For `audit`: a word of ours, nothing that a peer or gorush said. Of ends and retries.
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

    /// A device token is named by its SHA-256.
    package enum TokenChange: Sendable {
        /// It may be dead; an earlier suspicion keeps its time.
        case suspect(Digest32)
        /// A push has arrived, or the verdict is in.
        case clearSuspicion(Digest32)
        /// All registrations with it end.
        case unregister(DeadToken)
    }

    package var pushes: [Push] = []
    package var tokens: [TokenChange] = []

    package init() {}
}

/// A device token that turned out to be dead.
///
/// Re-installed apps leave their old registrations behind, so one token may be under several installations and keys. Their versions stay:
/// the clients may register anew with higher ones. A copy of each registration is kept for ``DeadRegistration/lifetime``.
package struct DeadToken: Sendable {
    package var text: String
    package var type: TokenType
    /// When it was tried. What was registered then or later stays: it may be the same token, alive again.
    package var attemptedAt: Timestamp
    /// A word of ours, for `dead-tokens list`.
    package var reason: String
    package var route: String

    package init(text: String, type: TokenType, attemptedAt: Timestamp, reason: String, route: String) {
        self.text = text
        self.type = type
        self.attemptedAt = attemptedAt
        self.reason = reason
        self.route = route
    }
}
