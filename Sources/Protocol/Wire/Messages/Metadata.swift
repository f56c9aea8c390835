import Bytes

/// `ApplicationMetadataMessage.Type`, which decides a message's handling on any topic (PROTOCOL.md §2 and §5).
package struct MessageType: RawRepresentable, Hashable, Sendable {
    package let rawValue: Int32
    package init(rawValue: Int32) { self.rawValue = rawValue }

    package static let unknown = MessageType(rawValue: 0)
    package static let contactCodeAdvertisement = MessageType(rawValue: 15)
    package static let pushNotificationRegistration = MessageType(rawValue: 16)
    package static let pushNotificationRegistrationResponse = MessageType(rawValue: 17)
    package static let pushNotificationQuery = MessageType(rawValue: 18)
    package static let pushNotificationQueryResponse = MessageType(rawValue: 19)
    package static let pushNotificationRequest = MessageType(rawValue: 20)
    package static let pushNotificationResponse = MessageType(rawValue: 21)
}

package struct ApplicationMetadataMessage: WireMessage, HoldsSecret {
    /// `R‖S‖V`, 65 bytes, over keccak256(payload).
    package var signature: [UInt8] = []
    package var payload: [UInt8] = []
    package var type = MessageType.unknown

    package init() {}

    package init(reading reader: inout WireReader) throws(WireError) {
        while let field = try reader.nextField() {
            switch field {
            case .bytes(1): signature = try reader.readBytes()
            case .bytes(2): payload = try reader.readBytes()
            case .varint(3): type = MessageType(rawValue: try reader.readInt32())
            default: try reader.skip(field)
            }
        }
    }

    package func write(to writer: inout WireWriter) {
        writer.write(signature, 1)
        writer.write(payload, 2)
        writer.write(type.rawValue, 3)
    }
}
