package import Bytes
import StatusCrypto

/// `PushNotificationRegistration.TokenType`. Open, as proto3 enums are: an unknown number survives reading.
package struct TokenType: RawRepresentable, Hashable, Sendable {
    package let rawValue: Int32
    package init(rawValue: Int32) { self.rawValue = rawValue }

    package static let unknown = TokenType(rawValue: 0)
    package static let apn = TokenType(rawValue: 1)
    package static let firebase = TokenType(rawValue: 2)
}

/// A device's registration (71/STATUS-PUSH-NOTIFICATION-SERVER, PROTOCOL.md §6 and §7).
package struct PushNotificationRegistration: WireMessage, HoldsSecret {
    package var tokenType = TokenType.unknown
    package var deviceToken: DeviceToken = ""
    package var installationID = ""
    package var accessToken: AccessToken = ""
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

    package init(reading reader: inout WireReader) throws(WireError) {
        while let field = try reader.nextField() {
            switch field {
            case .varint(1): tokenType = TokenType(rawValue: try reader.readInt32())
            case .bytes(2): deviceToken = DeviceToken(try reader.readString())
            case .bytes(3): installationID = try reader.readString()
            case .bytes(4): accessToken = AccessToken(try reader.readString())
            case .varint(5): enabled = try reader.readBool()
            case .varint(6): version = try reader.readVarint()
            case .bytes(7): try reader.readBytes(appendingTo: &allowedKeyList)
            case .bytes(8): try reader.readBytes(appendingTo: &blockedChatList)
            case .varint(9): unregister = try reader.readBool()
            case .bytes(10): grant = try reader.readBytes()
            case .varint(11): allowFromContactsOnly = try reader.readBool()
            case .bytes(12): apnTopic = try reader.readString()
            case .varint(13): blockMentions = try reader.readBool()
            case .bytes(14): try reader.readBytes(appendingTo: &allowedMentionsChatList)
            case .bytes(15): try reader.readBytes(appendingTo: &mutedChatList)
            default: try reader.skip(field)
            }
        }
    }

    package func write(to writer: inout WireWriter) {
        writer.write(tokenType.rawValue, 1)
        writer.write(deviceToken.text, 2)
        writer.write(installationID, 3)
        writer.write(accessToken.text, 4)
        writer.write(enabled, 5)
        writer.write(version, 6)
        writer.write(allowedKeyList, 7)
        writer.write(blockedChatList, 8)
        writer.write(unregister, 9)
        writer.write(grant, 10)
        writer.write(allowFromContactsOnly, 11)
        writer.write(apnTopic, 12)
        writer.write(blockMentions, 13)
        writer.write(allowedMentionsChatList, 14)
        writer.write(mutedChatList, 15)
    }
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

    package init(reading reader: inout WireReader) throws(WireError) {
        while let field = try reader.nextField() {
            switch field {
            case .varint(1): success = try reader.readBool()
            case .varint(2): error = RegistrationError(rawValue: try reader.readInt32())
            case .bytes(3): requestID = try reader.readBytes()
            default: try reader.skip(field)
            }
        }
    }

    package func write(to writer: inout WireWriter) {
        writer.write(success, 1)
        writer.write(error.rawValue, 2)
        writer.write(requestID, 3)
    }
}
