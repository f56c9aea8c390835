package import Envelope
package import StatusCrypto
package import Store

/// A device that is registered with the proxy.
package struct Device: Sendable, Equatable {
    package var identifier: DeviceIdentifier
    /// Whose signature its pushes have: the user's key of its server, pinned by the first registration.
    package var userKey: RSAPublicKey
    /// SHA-512 of the token text as the device sent it.
    package var pushTokenHash: Digest64
    package var platform: GatewayNotification.Platform
    /// A secret.
    package var token: String
    package var topic: String?
    /// For calls; a secret.
    package var voipToken: String?
    package var voipTopic: String?
    package var createdAt: Timestamp
    package var updatedAt: Timestamp

    package init(
        identifier: DeviceIdentifier, userKey: RSAPublicKey, pushTokenHash: Digest64, platform: GatewayNotification.Platform, token: String,
        topic: String? = nil, voipToken: String? = nil, voipTopic: String? = nil, createdAt: Timestamp, updatedAt: Timestamp
    ) {
        self.identifier = identifier
        self.userKey = userKey
        self.pushTokenHash = pushTokenHash
        self.platform = platform
        self.token = token
        self.topic = topic
        self.voipToken = voipToken
        self.voipTopic = voipTopic
        self.createdAt = createdAt
        self.updatedAt = updatedAt
    }
}
