import Bytes
package import Envelope
package import PushProtocol
import StatusCrypto
package import Wire

/// How many rows were changed when a key was forgotten.
package struct Forgotten: Sendable, Equatable {
    package var registrationCount = 0
    /// The number of tombstones that stay, because their versions stop replays of old registrations.
    package var tombstoneCount = 0
    package var pushCount = 0
    package var deadRegistrationCount = 0
    /// The number of erased replies to the key's messages.
    package var replyCount = 0

    package init() {}
}

/// The number of registrations by kind.
package struct RegistrationCounts: Sendable, Equatable {
    package var live: [TokenType: Int]
    /// Tombstones of unregistered installations.
    package var tombstones: Int
    /// The Nextcloud push proxy's devices.
    package var nextcloud: Int
    /// The Nextcloud origin's devices.
    package var nextcloudOrigin: Int

    package init(live: [TokenType: Int] = [:], tombstones: Int = 0, nextcloud: Int = 0, nextcloudOrigin: Int = 0) {
        self.live = live
        self.tombstones = tombstones
        self.nextcloud = nextcloud
        self.nextcloudOrigin = nextcloudOrigin
    }
}

/// A registration for operators, without its device token and lists.
package struct RegistrationSummary: Sendable, Equatable {
    package var installationID: String
    package var version: UInt64
    package var isLive: Bool
    package var updatedAt: Timestamp
    /// The token type. This and the properties below have a meaning for live registrations only.
    package var tokenType: TokenType
    package var apnTopic: String
    package var isEnabled: Bool

    package init(
        installationID: String, version: UInt64, isLive: Bool, updatedAt: Timestamp, tokenType: TokenType, apnTopic: String, isEnabled: Bool
    ) {
        self.installationID = installationID
        self.version = version
        self.isLive = isLive
        self.updatedAt = updatedAt
        self.tokenType = tokenType
        self.apnTopic = apnTopic
        self.isEnabled = isEnabled
    }
}

/// A registration that was unregistered because its device token was dead, without the token, which is a secret.
package struct DeadRegistration: Sendable, Equatable {
    /// How long the store keeps copies of dead registrations, and suspicions against device tokens, so that an operator can restore copies
    /// after a weekend.
    package static let lifetime = Duration.seconds(7 * 24 * 3_600)

    package var id: Int64
    package var diedAt: Timestamp
    package var reason: String
    package var route: String
    package var installation: Installation
    package var version: UInt64

    package init(id: Int64, diedAt: Timestamp, reason: String, route: String, installation: Installation, version: UInt64) {
        self.id = id
        self.diedAt = diedAt
        self.reason = reason
        self.route = route
        self.installation = installation
        self.version = version
    }
}
