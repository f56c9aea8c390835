package import Envelope
package import ServerCrypto
import StatusCrypto

/// A user's device that an app password has registered with the Nextcloud origin.
package struct OriginDevice: Sendable, Equatable {
    package var user: String
    /// The app password's id. Each app password belongs to a single device.
    package var tokenID: Int64
    /// The device's identifier at its proxy.
    package var identifier: String
    package var publicKey: RSAPublicKey
    package var pushTokenHash: String
    /// The device's push proxy, as a URL without a `/` at its end.
    package var proxy: String
    package var appType: AppType
    /// The time at which the app password was last used, or nil if the backend did not state it.
    package var lastSeen: Timestamp?
    package var createdAt: Timestamp

    package init(
        user: String, tokenID: Int64, identifier: String, publicKey: RSAPublicKey, pushTokenHash: String, proxy: String, appType: AppType,
        lastSeen: Timestamp?, createdAt: Timestamp
    ) {
        self.user = user
        self.tokenID = tokenID
        self.identifier = identifier
        self.publicKey = publicKey
        self.pushTokenHash = pushTokenHash
        self.proxy = proxy
        self.appType = appType
        self.lastSeen = lastSeen
        self.createdAt = createdAt
    }
}

/// The Nextcloud app that a device runs. The raw value is stored.
package enum AppType: String, Sendable, Equatable {
    case talk
    case nextcloud
    case unknown
}

/// A change to a user's devices.
package struct OriginChange: Sendable, Equatable {
    /// The device to store. It replaces the device that has the same app password.
    package var put: OriginDevice?
    /// The app passwords whose devices are removed.
    package var removed: [Int64]

    package init(put: OriginDevice? = nil, removed: [Int64] = []) {
        self.put = put
        self.removed = removed
    }
}
