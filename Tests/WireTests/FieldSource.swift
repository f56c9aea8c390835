import Bytes
import StatusCrypto
import Wire

/// The source of a message's field values: protobuf's JSON, or random numbers.
protocol FieldSource {
    mutating func bool(_ name: String) throws -> Bool
    mutating func int32(_ name: String) throws -> Int32
    mutating func uint32(_ name: String) throws -> UInt32
    mutating func uint64(_ name: String) throws -> UInt64
    mutating func optionalInt64(_ name: String) throws -> Int64?
    mutating func string(_ name: String) throws -> String
    mutating func bytes(_ name: String) throws -> [UInt8]
    mutating func list(_ name: String) throws -> [[UInt8]]
    mutating func messages<Message: FilledFromFields>(_ name: String) throws -> [Message]
}

/// A message that the tests can build by the names of `Protos`, without the code under test.
protocol FilledFromFields: WireMessage {
    init(fields: inout some FieldSource) throws
}

extension PushNotificationRegistration: FilledFromFields {
    init(fields: inout some FieldSource) throws {
        self.init()
        tokenType = TokenType(rawValue: try fields.int32("token_type"))
        deviceToken = DeviceToken(try fields.string("device_token"))
        installationID = try fields.string("installation_id")
        accessToken = AccessToken(try fields.string("access_token"))
        enabled = try fields.bool("enabled")
        version = try fields.uint64("version")
        allowedKeyList = try fields.list("allowed_key_list")
        blockedChatList = try fields.list("blocked_chat_list")
        unregister = try fields.bool("unregister")
        grant = try fields.bytes("grant")
        allowFromContactsOnly = try fields.bool("allow_from_contacts_only")
        apnTopic = try fields.string("apn_topic")
        blockMentions = try fields.bool("block_mentions")
        allowedMentionsChatList = try fields.list("allowed_mentions_chat_list")
        mutedChatList = try fields.list("muted_chat_list")
    }
}

extension PushNotificationRegistrationResponse: FilledFromFields {
    init(fields: inout some FieldSource) throws {
        self.init()
        success = try fields.bool("success")
        error = RegistrationError(rawValue: try fields.int32("error"))
        requestID = try fields.bytes("request_id")
    }
}

extension PushNotificationQuery: FilledFromFields {
    init(fields: inout some FieldSource) throws {
        self.init()
        publicKeys = try fields.list("public_keys")
    }
}

extension PushNotificationQueryInfo: FilledFromFields {
    init(fields: inout some FieldSource) throws {
        self.init()
        accessToken = AccessToken(try fields.string("access_token"))
        installationID = try fields.string("installation_id")
        publicKey = try fields.bytes("public_key")
        allowedKeyList = try fields.list("allowed_key_list")
        grant = try fields.bytes("grant")
        version = try fields.uint64("version")
        serverPublicKey = try fields.bytes("server_public_key")
    }
}

extension PushNotificationQueryResponse: FilledFromFields {
    init(fields: inout some FieldSource) throws {
        self.init()
        info = try fields.messages("info")
        messageID = try fields.bytes("message_id")
        success = try fields.bool("success")
    }
}

extension ContactCodeAdvertisement: FilledFromFields {
    init(fields: inout some FieldSource) throws {
        self.init()
        pushNotificationInfo = try fields.messages("push_notification_info")
        chatIdentity = try fields.bytes("chat_identity")
    }
}

extension ProtocolMessage: FilledFromFields {
    init(fields: inout some FieldSource) throws {
        self.init()
        publicMessage = try fields.bytes("public_message")
    }
}

extension PushNotification: FilledFromFields {
    init(fields: inout some FieldSource) throws {
        self.init()
        accessToken = AccessToken(try fields.string("access_token"))
        chatID = try fields.bytes("chat_id")
        publicKey = try fields.bytes("public_key")
        installationID = try fields.string("installation_id")
        message = try fields.bytes("message")
        type = PushNotificationType(rawValue: try fields.int32("type"))
        author = try fields.bytes("author")
    }
}

extension PushNotificationRequest: FilledFromFields {
    init(fields: inout some FieldSource) throws {
        self.init()
        requests = try fields.messages("requests")
        messageID = try fields.bytes("message_id")
    }
}

extension PushNotificationReport: FilledFromFields {
    init(fields: inout some FieldSource) throws {
        self.init()
        success = try fields.bool("success")
        error = ReportError(rawValue: try fields.int32("error"))
        publicKey = try fields.bytes("public_key")
        installationID = try fields.string("installation_id")
    }
}

extension PushNotificationResponse: FilledFromFields {
    init(fields: inout some FieldSource) throws {
        self.init()
        messageID = try fields.bytes("message_id")
        reports = try fields.messages("reports")
    }
}

extension ApplicationMetadataMessage: FilledFromFields {
    init(fields: inout some FieldSource) throws {
        self.init()
        signature = try fields.bytes("signature")
        payload = try fields.bytes("payload")
        type = MessageType(rawValue: try fields.int32("type"))
    }
}

extension SegmentMessage: FilledFromFields {
    init(fields: inout some FieldSource) throws {
        self.init()
        entireMessageHash = try fields.bytes("entire_message_hash")
        index = try fields.uint32("index")
        segmentsCount = try fields.uint32("segments_count")
        payload = try fields.bytes("payload")
        paritySegmentIndex = try fields.uint32("parity_segment_index")
        paritySegmentsCount = try fields.uint32("parity_segments_count")
    }
}

extension WakuMessage: FilledFromFields {
    init(fields: inout some FieldSource) throws {
        self.init()
        payload = try fields.bytes("payload")
        contentTopic = try fields.string("content_topic")
        version = try fields.uint32("version")
        timestamp = try fields.optionalInt64("timestamp")
        meta = try fields.bytes("meta")
        ephemeral = try fields.bool("ephemeral")
    }
}
