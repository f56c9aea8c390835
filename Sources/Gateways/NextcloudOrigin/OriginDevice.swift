package import Envelope
package import StatusCrypto

/// A device of a user's, registered by an app password.
package struct OriginDevice: Sendable, Equatable {
    package var user: String
    /// The app password: a user has one device for each.
    package var tokenID: Int64
    /// What names it to its proxy.
    package var identifier: String
    package var publicKey: RSAPublicKey
    package var pushTokenHash: String
    /// Without `/` at its end.
    package var proxy: String
    package var appType: AppType
    /// When the app password was last used, as far as the backend has said.
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

    /// A device whose app password was not used for so long gets nothing.
    static let maximumSilence = Duration.seconds(60 * 24 * 3_600)
    /// Devices that one notification goes to, the newest ones: each costs a signature.
    static let maximumCount = 20

    /// Those that are pushed to at all.
    static func reachable(_ devices: [OriginDevice], at now: Timestamp) -> [OriginDevice] {
        let heard = devices.filter { $0.lastSeen.map { $0.advanced(by: maximumSilence) >= now } ?? true }
        return Array(heard.sorted { ($0.createdAt, $0.tokenID) > ($1.createdAt, $1.tokenID) }.prefix(maximumCount))
    }
}
