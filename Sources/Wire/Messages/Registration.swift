/// `PushNotificationRegistration.TokenType`. Open, as proto3 enums are: an unknown number survives reading.
package struct TokenType: RawRepresentable, Hashable, Sendable {
    package let rawValue: Int32
    package init(rawValue: Int32) { self.rawValue = rawValue }

    package static let unknown = TokenType(rawValue: 0)
    package static let apn = TokenType(rawValue: 1)
    package static let firebase = TokenType(rawValue: 2)
}

/// What a device tells the server about itself (71/STATUS-PUSH-NOTIFICATION-SERVER, PROTOCOL.md §6 and §7).
package struct PushNotificationRegistration: WireMessage {
    package var tokenType = TokenType.unknown
    package var deviceToken = ""
    package var installationID = ""
    package var accessToken = ""
    package var enabled = false
    package var version: UInt64 = 0
    package var allowedKeyList: [[UInt8]] = []
    package var blockedChatList: [[UInt8]] = []
    package var unregister = false
    package var grant: [UInt8] = []
    package var allowFromContactsOnly = false
    package var apnTopic = ""
    package var blockMentions = false
    package var allowedMentionsChatList: [[UInt8]] = []
    package var mutedChatList: [[UInt8]] = []

    package init() {}
}

/// `PushNotificationRegistrationResponse.ErrorType`.
package struct RegistrationError: RawRepresentable, Hashable, Sendable {
    package let rawValue: Int32
    package init(rawValue: Int32) { self.rawValue = rawValue }

    package static let unknown = RegistrationError(rawValue: 0)
    package static let malformedMessage = RegistrationError(rawValue: 1)
    package static let versionMismatch = RegistrationError(rawValue: 2)
    package static let unsupportedTokenType = RegistrationError(rawValue: 3)
    package static let internalError = RegistrationError(rawValue: 4)
}

package struct PushNotificationRegistrationResponse: WireMessage {
    package var success = false
    package var error = RegistrationError.unknown
    /// SHAKE-256 (64 bytes) of the encrypted registration payload.
    package var requestID: [UInt8] = []

    package init() {}
}
