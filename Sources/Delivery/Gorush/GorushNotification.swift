import FoundationEssentials

/// A platform as gorush numbers it.
package enum GorushPlatform: Int, Sendable, Encodable {
    case ios = 1
    case android = 2
}

/// One element of `notifications` in a POST to gorush's `/api/push`, as it is posted (PROTOCOL.md §10, GORUSH.md §3).
struct GorushNotification: Sendable, Equatable {
    /// The two shapes of `data`. All values are strings; hex is lower case with 0x, `"0x"` when empty.
    enum Content: Sendable, Equatable {
        case rfc71(chatID: String, message: String, installationIDs: [String])
        case statusGo(encryptedMessage: String, chatID: String, publicKey: String)
    }

    /// When it is worth nothing any more: Unix seconds, and seconds from now, of which there is at least one.
    struct Expiry: Sendable, Equatable {
        var unixSeconds: Int64
        var secondsLeft: Int64
    }

    /// The `notif_id`, by which gorush's `logs` and its feedback speak of it. Unique and not to be guessed, for the feedback hook is not
    /// authenticated (GORUSH.md §8); never a token or a user's data.
    var identifier: String?
    var tokens: [String]
    var platform: GorushPlatform
    /// The bundle id, for iOS only: for Android gorush would broadcast to an FCM topic (GORUSH.md §0 fact 8).
    var topic: String?
    var message: String
    var data: Content
    /// Of two notifications with the same one a phone shows the later: APNs takes up to 64 bytes (GORUSH.md §3).
    var collapseIdentifier: String?
    var expiry: Expiry?

    /// What gorush adds to `counts` for it, unless its platform is disabled there: one for each token. For a topic it adds one more,
    /// also for iOS, which no version promises (GORUSH.md §2.3).
    var expectedCount: Int { tokens.count }

    /// The body of a POST: JSON in UTF-8, the keys in alphabetical order.
    static func body(_ notifications: [GorushNotification]) throws -> [UInt8] {
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

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encodeIfPresent(identifier, forKey: .identifier)
        try container.encode(tokens, forKey: .tokens)
        try container.encode(platform, forKey: .platform)
        try container.encodeIfPresent(topic, forKey: .topic)
        try container.encode(message, forKey: .message)
        try container.encode(data, forKey: .data)
        // Each platform ignores the other's (GORUSH.md §3). Of `collapse_key` FCM keeps four a device, so it would drop messages.
        if platform == .ios {
            try container.encodeIfPresent(collapseIdentifier, forKey: .collapseIdentifier)
            try container.encodeIfPresent(expiry?.unixSeconds, forKey: .expiration)
        } else if collapseIdentifier != nil || expiry != nil {
            let configuration = AndroidConfiguration(
                ttl: expiry.map { "\($0.secondsLeft)s" }, notification: collapseIdentifier.map { ["tag": $0] })
            try container.encode(configuration, forKey: .android)
        }
    }
}

extension GorushNotification.Content: Encodable {
    private enum CodingKeys: String, CodingKey {
        case chat_id, message, installation_ids
        case encryptedMessage, chatId, publicKey
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        switch self {
        case .rfc71(let chatID, let message, let installationIDs):
            try container.encode(chatID, forKey: .chat_id)
            try container.encode(message, forKey: .message)
            try container.encode(installationIDs, forKey: .installation_ids)
        case .statusGo(let encryptedMessage, let chatID, let publicKey):
            try container.encode(encryptedMessage, forKey: .encryptedMessage)
            try container.encode(chatID, forKey: .chatId)
            try container.encode(publicKey, forKey: .publicKey)
        }
    }
}
