import Wire

extension FuzzTarget {
    /// Every message of Protos/. A message that can be read is written canonically, and the result reads as an equal message.
    static let wire: [FuzzTarget] = [
        wire(ApplicationMetadataMessage.self, vectors: ["05_app_metadata", "06_protobuf"]),
        wire(PushNotificationRegistration.self, entryByteCount: 8),
        wire(PushNotificationRegistrationResponse.self),
        wire(PushNotificationQuery.self, entryByteCount: 8),
        wire(PushNotificationQueryInfo.self, entryByteCount: 8),
        wire(PushNotificationQueryResponse.self, entryByteCount: MemoryLayout<PushNotificationQueryInfo>.stride),
        wire(PushNotificationRequest.self, entryByteCount: MemoryLayout<PushNotification>.stride),
        wire(PushNotificationResponse.self, entryByteCount: MemoryLayout<PushNotificationReport>.stride),
        wire(ContactCodeAdvertisement.self, entryByteCount: MemoryLayout<PushNotificationQueryInfo>.stride),
        wire(ProtocolMessage.self),
        wire(SegmentMessage.self, vectors: ["06_protobuf", "09_segmentation"]),
        wire(WakuMessage.self, vectors: ["06_protobuf", "10_message_hash"]),
    ]

    private static func wire<Message: WireMessage>(
        _ type: Message.Type, vectors: [String] = ["06_protobuf", "08_e2e"], entryByteCount: Int = 0
    ) -> FuzzTarget {
        FuzzTarget(name: "\(type)", vectors: vectors) { input throws(Violation) in
            guard let message = try readBounded(input, entryByteCount: entryByteCount, { try? Message.decode(input) }) else { return }
            let encoded = message.encoded()
            try expect(encoded.count == message.encodedByteCount, "the size is known before writing")
            try expect((try? Message.decode(encoded)) == message, "a written message is read back")
            try expect((try? Message.decode(encoded))?.encoded() == encoded, "writing is canonical")
        }
    }
}
