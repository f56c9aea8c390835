/// A notification that the tested server has posted, with the fields that the rules judge (PROTOCOL.md §10).
struct GorushNotification: Decodable, Sendable {
    /// `data`, in either shape.
    struct Content: Decodable, Sendable {
        // The shape of 71.
        let chatID: String?
        let message: String?
        let installationIDs: [String]?
        // The reference's shape, whose chat id has another name.
        let referenceChatID: String?
        let encryptedMessage: String?
        let publicKey: String?

        private enum CodingKeys: String, CodingKey {
            case chatID = "chat_id"
            case message
            case installationIDs = "installation_ids"
            case referenceChatID = "chatId"
            case encryptedMessage, publicKey
        }
    }

    let tokens: [String]
    /// As gorush numbers them: 1 for iOS, 2 for Android.
    let platform: Int
    let topic: String?
    let message: String?
    let data: Content?

    private enum CodingKeys: CodingKey { case tokens, platform, topic, message, data }

    /// The keys that no rule judges, and for which gorush 1.22 declares a type: a wrong type in any of them makes gorush refuse the whole
    /// batch (GORUSH.md §3). `sound` may be anything.
    private struct OtherKeys: Decodable {
        struct Anything: Decodable {}
        struct Android: Decodable {
            let collapse_key, priority, ttl: String?
            let notification: [String: Anything]?
        }

        let notif_id, to, title, image, priority, category, condition, name, apns_id, collapse_id, push_type: String?
        let threadID, interruption_level: String?
        let content_available, mutable_content, production, development: Bool?
        let retry, expiration, badge: Int?
        let volume: Float?
        let urlArguments: [String]?
        let alert, notification: [String: Anything]?
        let android: Android?

        private enum CodingKeys: String, CodingKey {
            case notif_id, to, title, image, priority, category, condition, name, apns_id, collapse_id, push_type
            case threadID = "thread-id"
            case interruption_level, content_available, mutable_content, production, development, retry, expiration, badge, volume
            case urlArguments = "url-args"
            case alert, notification, android
        }
    }

    init(from decoder: any Decoder) throws {
        _ = try OtherKeys(from: decoder)
        let container = try decoder.container(keyedBy: CodingKeys.self)
        tokens = try container.decode([String].self, forKey: .tokens)
        platform = try container.decode(Int.self, forKey: .platform)
        topic = try container.decodeIfPresent(String.self, forKey: .topic)
        message = try container.decodeIfPresent(String.self, forKey: .message)
        data = try container.decodeIfPresent(Content.self, forKey: .data)
    }

    /// Whether it carries a message, in either shape.
    func isAbout(_ message: [UInt8]) -> Bool { [data?.message, data?.encryptedMessage].contains(message.gorushText) }
}
