package import Bytes
import StatusCrypto

package struct PushNotificationQuery: WireMessage {
    /// Hashes of public keys, 64 bytes each.
    package var publicKeys: [[UInt8]] = []

    package init() {}

    package init(reading reader: inout WireReader) throws(WireError) {
        while let field = try reader.nextField() {
            switch field {
            case .bytes(1): try reader.readBytes(appendingTo: &publicKeys)
            default: try reader.skip(field)
            }
        }
    }

    package func write(to writer: inout WireWriter) {
        writer.write(publicKeys, 1)
    }
}

package struct PushNotificationQueryInfo: WireMessage, HoldsSecret {
    package var accessToken: AccessToken = ""
    package var installationID = ""
    /// Hash of the owner's public key, 64 bytes.
    package var publicKey: [UInt8] = []
    package var allowedKeyList: [[UInt8]] = []
    package var grant: [UInt8] = []
    package var version: UInt64 = 0
    /// Compressed, 33 bytes.
    package var serverPublicKey: [UInt8] = []

    package init() {}

    package init(reading reader: inout WireReader) throws(WireError) {
        while let field = try reader.nextField() {
            switch field {
            case .bytes(1): accessToken = AccessToken(try reader.readString())
            case .bytes(2): installationID = try reader.readString()
            case .bytes(3): publicKey = try reader.readBytes()
            case .bytes(4): try reader.readBytes(appendingTo: &allowedKeyList)
            case .bytes(5): grant = try reader.readBytes()
            case .varint(6): version = try reader.readVarint()
            case .bytes(7): serverPublicKey = try reader.readBytes()
            default: try reader.skip(field)
            }
        }
    }

    package func write(to writer: inout WireWriter) {
        writer.write(accessToken.text, 1)
        writer.write(installationID, 2)
        writer.write(publicKey, 3)
        writer.write(allowedKeyList, 4)
        writer.write(grant, 5)
        writer.write(version, 6)
        writer.write(serverPublicKey, 7)
    }
}

package struct PushNotificationQueryResponse: WireMessage {
    package var info: [PushNotificationQueryInfo] = []
    /// The query's Status message id, 32 bytes.
    package var messageID: [UInt8] = []
    package var success = false

    package init() {}

    package init(reading reader: inout WireReader) throws(WireError) {
        while let field = try reader.nextField() {
            switch field {
            case .bytes(1): try reader.readMessage(appendingTo: &info)
            case .bytes(2): messageID = try reader.readBytes()
            case .varint(3): success = try reader.readBool()
            default: try reader.skip(field)
            }
        }
    }

    package func write(to writer: inout WireWriter) {
        writer.write(info, 1)
        writer.write(messageID, 2)
        writer.write(success, 3)
    }
}

package struct ContactCodeAdvertisement: WireMessage {
    package var pushNotificationInfo: [PushNotificationQueryInfo] = []
    /// Opaque to us (`ChatIdentity`). Kept as received.
    package var chatIdentity: [UInt8] = []

    package init() {}

    package init(reading reader: inout WireReader) throws(WireError) {
        while let field = try reader.nextField() {
            switch field {
            case .bytes(1): try reader.readMessage(appendingTo: &pushNotificationInfo)
            case .bytes(2): chatIdentity = try reader.readBytes()
            default: try reader.skip(field)
            }
        }
    }

    package func write(to writer: inout WireWriter) {
        writer.write(pushNotificationInfo, 1)
        writer.write(chatIdentity, 2)
    }
}

/// The wrapper of reference clients' contact codes. It has many fields, but only this matters here (PROTOCOL.md §6).
package struct ProtocolMessage: WireMessage {
    /// An ``ApplicationMetadataMessage``.
    package var publicMessage: [UInt8] = []

    package init() {}

    package init(reading reader: inout WireReader) throws(WireError) {
        while let field = try reader.nextField() {
            switch field {
            case .bytes(102): publicMessage = try reader.readBytes()
            default: try reader.skip(field)
            }
        }
    }

    package func write(to writer: inout WireWriter) {
        writer.write(publicMessage, 102)
    }
}
