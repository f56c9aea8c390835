package import Bytes
package import Envelope
package import ServerCrypto
import StatusCrypto

/// A device that is registered with the Nextcloud push proxy.
package struct ProxyDevice: Sendable, Equatable {
    /// How long the store keeps a removed device's identifier (Decisions 15).
    package static let removalMemory = Duration.seconds(24 * 3_600)

    package var identifier: DeviceIdentifier
    /// The user's key at the Nextcloud server, which signs the device's pushes. The first registration pins it.
    package var userKey: RSAPublicKey
    /// The token's SHA-512, over the text that the device sent.
    package var pushTokenHash: Digest64
    package var platform: GatewayNotification.Platform
    package var token: DeviceToken
    package var topic: String?
    /// The token for calls.
    package var voipToken: DeviceToken?
    package var voipTopic: String?
    package var createdAt: Timestamp
    package var updatedAt: Timestamp

    package init(
        identifier: DeviceIdentifier, userKey: RSAPublicKey, pushTokenHash: Digest64, platform: GatewayNotification.Platform,
        token: DeviceToken,
        topic: String? = nil, voipToken: DeviceToken? = nil, voipTopic: String? = nil, createdAt: Timestamp, updatedAt: Timestamp
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

/// A device's name at its Nextcloud server and at the proxy: a SHA-512 over the account and the app password (GATEWAY_PROTOCOLS.md §1).
package struct DeviceIdentifier: Hashable, Sendable {
    package let digest: Digest64

    package init(_ digest: Digest64) {
        self.digest = digest
    }
}

/// What the database has for a device's identifier.
package enum StoredDevice: Sendable, Equatable {
    case readable(ProxyDevice)
    /// The row's values have another shape, or do not open with the sealing keys.
    case damaged
}

/// What becomes of a device.
package enum DeviceChange: Sendable, Equatable {
    case none
    case put(ProxyDevice)
    case remove
}
