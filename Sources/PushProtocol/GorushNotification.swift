/// One element of `notifications` in a POST to gorush `/api/push` (PROTOCOL.md §10, GORUSH.md §3).
package struct GorushNotification: Sendable, Equatable {
    package enum Platform: Int, Sendable {
        case ios = 1
        case android = 2
    }

    /// The two shapes of `data`. All values are strings; hex is lower case with 0x, `"0x"` when empty.
    package enum Content: Sendable, Equatable {
        case rfc71(chatID: String, message: String, installationIDs: [String])
        case statusGo(encryptedMessage: String, chatID: String, publicKey: String)
    }

    package var tokens: [String]
    package var platform: Platform
    /// The bundle id, for iOS only: for Android gorush would broadcast to an FCM topic (GORUSH.md §0 fact 8).
    package var topic: String?
    package var message: String
    package var data: Content

    package init(tokens: [String], platform: Platform, topic: String?, message: String, data: Content) {
        self.tokens = tokens
        self.platform = platform
        self.topic = topic
        self.message = message
        self.data = data
    }
}

/// The JSON of one element; the whole body is `{"notifications":[…]}`.
extension GorushNotification: Encodable {
    private enum CodingKeys: String, CodingKey {
        case tokens, platform, topic, message, data
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(tokens, forKey: .tokens)
        try container.encode(platform.rawValue, forKey: .platform)
        try container.encodeIfPresent(topic, forKey: .topic)
        try container.encode(message, forKey: .message)
        try container.encode(data, forKey: .data)
    }
}

extension GorushNotification.Content: Encodable {
    private enum RFC71Keys: String, CodingKey {
        case chatID = "chat_id"
        case message
        case installationIDs = "installation_ids"
    }

    private enum StatusGoKeys: String, CodingKey {
        case encryptedMessage
        case chatID = "chatId"
        case publicKey
    }

    package func encode(to encoder: any Encoder) throws {
        switch self {
        case .rfc71(let chatID, let message, let installationIDs):
            var container = encoder.container(keyedBy: RFC71Keys.self)
            try container.encode(chatID, forKey: .chatID)
            try container.encode(message, forKey: .message)
            try container.encode(installationIDs, forKey: .installationIDs)
        case .statusGo(let encryptedMessage, let chatID, let publicKey):
            var container = encoder.container(keyedBy: StatusGoKeys.self)
            try container.encode(encryptedMessage, forKey: .encryptedMessage)
            try container.encode(chatID, forKey: .chatID)
            try container.encode(publicKey, forKey: .publicKey)
        }
    }
}
