package import Envelope

/// An encrypted and signed push that waits for its device's proxy.
package struct OriginPush: Sendable, Equatable {
    /// Takes 100 MB of rows.
    package static let maximumWaitingCount = 100_000
    /// The greatest lifetime: a day, for phones that were switched off.
    package static let lifetime = Duration.seconds(24 * 3_600)

    /// The device's app password, by its id.
    package var tokenID: Int64
    /// The encrypted subject in base64.
    package var subject: String
    /// The subject's signature in base64.
    package var signature: String
    package var priority: GatewayNotification.Priority
    package var kind: GatewayNotification.Kind
    package var expiresAt: Timestamp

    package init(
        tokenID: Int64, subject: String, signature: String, priority: GatewayNotification.Priority, kind: GatewayNotification.Kind,
        expiresAt: Timestamp
    ) {
        self.tokenID = tokenID
        self.subject = subject
        self.signature = signature
        self.priority = priority
        self.kind = kind
        self.expiresAt = expiresAt
    }
}

/// A proxy for which pushes to a user's devices wait.
package struct WaitingProxy: Hashable, Sendable {
    package var proxy: String
    package var user: String
    /// Whether a call is among the pushes.
    package var hasCall: Bool

    package init(proxy: String, user: String, hasCall: Bool) {
        self.proxy = proxy
        self.user = user
        self.hasCall = hasCall
    }
}

/// A waiting push, and its device as it is registered now.
package struct WaitingOriginPush: Sendable, Equatable {
    package var id: Int64
    /// The device's row, which the store never reuses.
    package var device: Int64
    package var deviceIdentifier: String
    package var pushTokenHash: String
    package var push: OriginPush

    package init(id: Int64, device: Int64, deviceIdentifier: String, pushTokenHash: String, push: OriginPush) {
        self.id = id
        self.device = device
        self.deviceIdentifier = deviceIdentifier
        self.pushTokenHash = pushTokenHash
        self.push = push
    }
}
