package import Bytes
import StatusCrypto

/// `PushNotification.PushNotificationType`. Open: PROTOCOL.md §9 says what an unknown type means.
package struct PushNotificationType: RawRepresentable, Hashable, Sendable {
    package let rawValue: Int32
    package init(rawValue: Int32) { self.rawValue = rawValue }

    package static let unknown = PushNotificationType(rawValue: 0)
    package static let message = PushNotificationType(rawValue: 1)
    package static let mention = PushNotificationType(rawValue: 2)
    package static let requestToJoinCommunity = PushNotificationType(rawValue: 3)
    /// Of clients since 2026.
    package static let contactRequest = PushNotificationType(rawValue: 4)
}

package struct PushNotification: WireMessage, HoldsSecret {
    package var accessToken: AccessToken = ""
    package var chatID: [UInt8] = []
    /// Hash of the receiver's public key, 64 bytes.
    package var publicKey: [UInt8] = []
    package var installationID = ""
    /// The announced message's ciphertext.
    package var message: [UInt8] = []
    package var type = PushNotificationType.unknown
    package var author: [UInt8] = []

    package init() {}

    package init(reading reader: inout WireReader) throws(WireError) {
        while let field = try reader.nextField() {
            switch field {
            case .bytes(1): accessToken = AccessToken(try reader.readString())
            case .bytes(2): chatID = try reader.readBytes()
            case .bytes(3): publicKey = try reader.readBytes()
            case .bytes(4): installationID = try reader.readString()
            case .bytes(5): message = try reader.readBytes()
            case .varint(6): type = PushNotificationType(rawValue: try reader.readInt32())
            case .bytes(7): author = try reader.readBytes()
            default: try reader.skip(field)
            }
        }
    }

    package func write(to writer: inout WireWriter) {
        writer.write(accessToken.text, 1)
        writer.write(chatID, 2)
        writer.write(publicKey, 3)
        writer.write(installationID, 4)
        writer.write(message, 5)
        writer.write(type.rawValue, 6)
        writer.write(author, 7)
    }
}

package struct PushNotificationRequest: WireMessage {
    package var requests: [PushNotification] = []
    package var messageID: [UInt8] = []

    package init() {}

    package init(reading reader: inout WireReader) throws(WireError) {
        while let field = try reader.nextField() {
            switch field {
            case .bytes(1): try reader.readMessage(appendingTo: &requests)
            case .bytes(2): messageID = try reader.readBytes()
            default: try reader.skip(field)
            }
        }
    }

    package func write(to writer: inout WireWriter) {
        writer.write(requests, 1)
        writer.write(messageID, 2)
    }
}

/// `PushNotificationReport.ErrorType`.
package struct ReportError: RawRepresentable, Hashable, Sendable {
    package let rawValue: Int32
    package init(rawValue: Int32) { self.rawValue = rawValue }

    package static let unknown = ReportError(rawValue: 0)
    package static let wrongToken = ReportError(rawValue: 1)
    package static let internalError = ReportError(rawValue: 2)
    package static let notRegistered = ReportError(rawValue: 3)
}

package struct PushNotificationReport: WireMessage {
    package var success = false
    package var error = ReportError.unknown
    package var publicKey: [UInt8] = []
    package var installationID = ""

    package init() {}

    package init(reading reader: inout WireReader) throws(WireError) {
        while let field = try reader.nextField() {
            switch field {
            case .varint(1): success = try reader.readBool()
            case .varint(2): error = ReportError(rawValue: try reader.readInt32())
            case .bytes(3): publicKey = try reader.readBytes()
            case .bytes(4): installationID = try reader.readString()
            default: try reader.skip(field)
            }
        }
    }

    package func write(to writer: inout WireWriter) {
        writer.write(success, 1)
        writer.write(error.rawValue, 2)
        writer.write(publicKey, 3)
        writer.write(installationID, 4)
    }
}

package struct PushNotificationResponse: WireMessage {
    package var messageID: [UInt8] = []
    package var reports: [PushNotificationReport] = []

    package init() {}

    package init(reading reader: inout WireReader) throws(WireError) {
        while let field = try reader.nextField() {
            switch field {
            case .bytes(1): messageID = try reader.readBytes()
            case .bytes(2): try reader.readMessage(appendingTo: &reports)
            default: try reader.skip(field)
            }
        }
    }

    package func write(to writer: inout WireWriter) {
        writer.write(messageID, 1)
        writer.write(reports, 2)
    }
}
