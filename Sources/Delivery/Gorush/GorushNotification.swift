import FoundationEssentials

/// One element of `notifications` in a POST to gorush's `/api/push`, as it is posted (PROTOCOL.md §10, GORUSH.md §3).
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

    /// When it is worth nothing any more: Unix seconds, and seconds from now, of which there is at least one.
    package struct Expiry: Sendable, Equatable {
        package var unixSeconds: Int64
        package var secondsLeft: Int64
    }

    /// The `notif_id`, by which gorush's `logs` and its feedback speak of it. Unique and not to be guessed, for the feedback hook is not
    /// authenticated (GORUSH.md §8); never a token or a user's data.
    package var identifier: String?
    package var tokens: [String]
    package var platform: Platform
    /// The bundle id, for iOS only: for Android gorush would broadcast to an FCM topic (GORUSH.md §0 fact 8).
    package var topic: String?
    package var message: String
    package var data: Content
    /// Of two notifications with the same one a phone shows the later: APNs takes up to 64 bytes (GORUSH.md §3).
    package var collapseIdentifier: String?
    package var expiry: Expiry?

    package init(
        identifier: String? = nil, tokens: [String], platform: Platform, topic: String?, message: String, data: Content,
        collapseIdentifier: String? = nil, expiry: Expiry? = nil
    ) {
        self.identifier = identifier
        self.tokens = tokens
        self.platform = platform
        self.topic = topic
        self.message = message
        self.data = data
        self.collapseIdentifier = collapseIdentifier
        self.expiry = expiry
    }

    /// What gorush adds to `counts` for it, unless its platform is disabled there: one for each token. For a topic it adds one more,
    /// also for iOS, which no version promises (GORUSH.md §2.3).
    var expectedCount: Int { tokens.count }

    /// The body of a POST: JSON in UTF-8, the keys in alphabetical order.
    package static func body(_ notifications: [GorushNotification]) throws -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return try [UInt8](encoder.encode(["notifications": notifications]))
    }
}

extension GorushNotification: Encodable {
    private enum CodingKeys: String, CodingKey {
        case identifier = "notif_id"
        case tokens, platform, topic, message, data
        case collapseIdentifier = "collapse_id"
        case expiration, android
    }

    /// FCM's AndroidConfig.
    private struct AndroidConfiguration: Encodable {
        let ttl: String?
        let notification: [String: String]?
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encodeIfPresent(identifier, forKey: .identifier)
        try container.encode(tokens, forKey: .tokens)
        try container.encode(platform.rawValue, forKey: .platform)
        try container.encodeIfPresent(topic, forKey: .topic)
        try container.encode(message, forKey: .message)
        try container.encode(data, forKey: .data)
        // Each platform ignores the other's (GORUSH.md §3). Of `collapse_key` FCM keeps four a device, so it would drop messages.
        switch platform {
        case .ios:
            try container.encodeIfPresent(collapseIdentifier, forKey: .collapseIdentifier)
            try container.encodeIfPresent(expiry?.unixSeconds, forKey: .expiration)
        case .android where collapseIdentifier != nil || expiry != nil:
            let configuration = AndroidConfiguration(
                ttl: expiry.map { "\($0.secondsLeft)s" }, notification: collapseIdentifier.map { ["tag": $0] })
            try container.encode(configuration, forKey: .android)
        case .android:
            break
        }
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
