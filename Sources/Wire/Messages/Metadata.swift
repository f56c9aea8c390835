/// `ApplicationMetadataMessage.Type`: decides what happens to a message, whatever topic it came on (PROTOCOL.md §2 and §5).
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

package struct ApplicationMetadataMessage: WireMessage {
    /// `R‖S‖V`, 65 bytes, over keccak256(payload).
    package var signature: [UInt8] = []
    package var payload: [UInt8] = []
    package var type = MessageType.unknown

    package init() {}
}

/// One piece of a long message (PROTOCOL.md §5.1).
package struct SegmentMessage: WireMessage {
    /// keccak256 of the whole, 32 bytes.
    package var entireMessageHash: [UInt8] = []
    package var index: UInt32 = 0
    package var segmentsCount: UInt32 = 0
    package var payload: [UInt8] = []
    package var paritySegmentIndex: UInt32 = 0
    package var paritySegmentsCount: UInt32 = 0

    package init() {}
}
