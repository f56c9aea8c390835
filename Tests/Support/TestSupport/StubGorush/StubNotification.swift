package import Foundation

/// One notification that the stub took, as it was posted.
package struct StubNotification: Sendable, Equatable, Decodable {
    package var identifier: String?
    package var tokens: [String]
    /// 1 iOS, 2 Android; anything else is dropped by gorush.
    package var platform: Int
    package var topic: String?
    package var message: String?
    package var data: [String: JSONValue]?
    /// iOS: `collapse_id`; Android: `android.notification.tag`.
    package var collapseIdentifier: String?
    /// iOS: Unix seconds.
    package var expiration: Int?
    /// Android: as FCM writes it, `"3600s"`.
    package var timeToLive: String?
    /// When the request that brought it had been read, before anything was made of it.
    package var arrivedAt = Date.distantPast

    /// Every key that gorush v1.22 declares with a type of its own (GORUSH.md §3): a wrong type anywhere makes it refuse the whole
    /// batch. `sound` may be anything; Huawei and Live Activities are left out.
    private enum Key: String, CodingKey, CaseIterable {
        case identifier = "notif_id"
        case tokens, platform, topic, message, data
        case to, title, image, priority, category, condition, name
        case contentAvailable = "content_available"
        case mutableContent = "mutable_content"
        case production, development
        case retry, expiration, badge
        case volume
        case apnsIdentifier = "apns_id"
        case collapseIdentifier = "collapse_id"
        case pushType = "push_type"
        case threadIdentifier = "thread-id"
        case interruptionLevel = "interruption_level"
        case urlArguments = "url-args"
        case alert, notification, android
    }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: Key.self)
        // As in Go, `null` and an absent key are the same.
        identifier = try container.decodeIfPresent(String.self, forKey: .identifier)
        tokens = try container.decodeIfPresent([String].self, forKey: .tokens) ?? []
        platform = try container.decodeIfPresent(Int.self, forKey: .platform) ?? 0
        topic = try container.decodeIfPresent(String.self, forKey: .topic)
        message = try container.decodeIfPresent(String.self, forKey: .message)
        data = try container.decodeIfPresent([String: JSONValue].self, forKey: .data)
        expiration = try container.decodeIfPresent(Int.self, forKey: .expiration)
        let android = try container.decodeIfPresent(AndroidConfiguration.self, forKey: .android)
        timeToLive = android?.ttl
        collapseIdentifier = try container.decodeIfPresent(String.self, forKey: .collapseIdentifier)
        if platform == 2 {
            collapseIdentifier = if case .string(let tag)? = android?.notification?["tag"] { tag } else { nil }
        }
        for key in Key.allCases { try Self.checkType(of: key, in: container) }
    }

    private static func checkType(of key: Key, in container: KeyedDecodingContainer<Key>) throws {
        switch key {
        case .identifier, .tokens, .platform, .topic, .message, .data:
            break
        case .to, .title, .image, .priority, .category, .condition, .name, .apnsIdentifier, .collapseIdentifier, .pushType,
            .threadIdentifier, .interruptionLevel:
            _ = try container.decodeIfPresent(String.self, forKey: key)
        case .contentAvailable, .mutableContent, .production, .development:
            _ = try container.decodeIfPresent(Bool.self, forKey: key)
        case .retry, .expiration, .badge:
            _ = try container.decodeIfPresent(Int.self, forKey: key)
        case .volume:
            _ = try container.decodeIfPresent(Float.self, forKey: key)
        case .urlArguments:
            _ = try container.decodeIfPresent([String].self, forKey: key)
        case .alert, .notification:
            _ = try container.decodeIfPresent([String: JSONValue].self, forKey: key)
        case .android:
            _ = try container.decodeIfPresent(AndroidConfiguration.self, forKey: key)
        }
    }

    /// The strings of FCM's AndroidConfig; `ttl` is one too (`"3600s"`).
    private struct AndroidConfiguration: Decodable {
        let collapse_key: String?
        let priority: String?
        let ttl: String?
        let notification: [String: JSONValue]?
    }

    var platformName: String { platform == 1 ? "ios" : "android" }

    /// Its share of `counts`: a topic counts for iOS too (GORUSH.md §2.3).
    var count: Int { tokens.count + (topic?.isEmpty ?? true ? 0 : 1) }
}
