package import Bytes
package import Envelope
import StatusCrypto
package import Wire

extension DeviceToken {
    /// The token as it names a device. Apple's tokens are hexadecimal, so upper and lower case mean the same.
    package func folded(as type: TokenType) -> DeviceToken { type == .apn ? DeviceToken(text.lowercased()) : self }
}

/// The parts of a registration that a push request needs, without its lists.
package struct PushTarget: HoldsSecret, Sendable, Equatable {
    package var accessToken: AccessToken = ""
    package var enabled = false
    package var tokenType = TokenType.unknown
    package var deviceToken: DeviceToken = ""
    package var apnTopic = ""
    package var blockMentions = false
    /// When the registration was stored. Of several registrations of a device, the newest one counts.
    package var registeredAt = Timestamp(nanoseconds: .max)

    // The entries of each list that are among the notification's chats and authors.

    package var blockedChatList: Set<[UInt8]> = []
    package var mutedChatList: Set<[UInt8]> = []
    package var allowedMentionsChatList: Set<[UInt8]> = []

    package init() {}

    /// - Parameter entries: The notifications' chats and authors.
    package init(_ registration: PushNotificationRegistration, asking entries: Set<[UInt8]>) {
        accessToken = registration.accessToken
        enabled = registration.enabled
        tokenType = registration.tokenType
        deviceToken = registration.deviceToken
        apnTopic = registration.apnTopic
        blockMentions = registration.blockMentions
        blockedChatList = entries.intersection(registration.blockedChatList)
        mutedChatList = entries.intersection(registration.mutedChatList)
        allowedMentionsChatList = entries.intersection(registration.allowedMentionsChatList)
    }
}

/// A push reported as "success, not filtered": the server must not lose it (RELIABILITY.md I1).
package struct AcceptedPush: HoldsSecret, Sendable, Equatable {
    package var target: Installation
    /// The digest of (message_id, public_key, installation_id): see `DeduplicationKey`.
    package var deduplicationKey: Digest32
    package var tokenType: TokenType
    package var deviceToken: DeviceToken
    package var apnTopic: String
    package var type: PushNotificationType
    package var chatID: [UInt8]
    /// The announced message's ciphertext.
    package var message: [UInt8]

    package init(
        target: Installation, deduplicationKey: Digest32, tokenType: TokenType, deviceToken: DeviceToken, apnTopic: String,
        type: PushNotificationType, chatID: [UInt8], message: [UInt8]
    ) {
        self.target = target
        self.deduplicationKey = deduplicationKey
        self.tokenType = tokenType
        self.deviceToken = deviceToken
        self.apnTopic = apnTopic
        self.type = type
        self.chatID = chatID
        self.message = message
    }
}

/// The parts of a registration that a query needs.
package struct QueryableRegistration: HoldsSecret, Sendable, Equatable {
    package var installationID = ""
    package var accessToken: AccessToken = ""
    package var grant: [UInt8] = []
    package var version: UInt64 = 0
    package var allowFromContactsOnly = false
    package var allowedKeyList: [[UInt8]] = []
    /// When the registration was stored.
    package var registeredAt = Timestamp(nanoseconds: .max)

    package init() {}

    package init(_ registration: PushNotificationRegistration) {
        installationID = registration.installationID
        accessToken = registration.accessToken
        grant = registration.grant
        version = registration.version
        allowFromContactsOnly = registration.allowFromContactsOnly
        allowedKeyList = registration.allowedKeyList
    }

    /// The minimum number of bytes that the list takes in a response.
    package var listByteCount: Int { allowedKeyList.reduce(0) { $0 + $1.count } }
}
