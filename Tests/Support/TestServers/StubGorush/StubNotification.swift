package import Foundation
package import TestSupport

/// A notification that the stub accepted, as it was posted.
package struct StubNotification: Sendable, Equatable, Decodable {
    package var identifier: String?
    package var tokens: [String]
    /// The platform: 1 for iOS, 2 for Android. gorush drops others.
    package var platform: Int
    package var topic: String?
    package var message: String?
    package var data: [String: JSONValue]?
    /// The `collapse_id` on iOS, or the `android.notification.tag` on Android.
    package var collapseIdentifier: String?
    /// The expiration on iOS, in Unix seconds.
    package var expiration: Int?
    /// The time to live on Android, as FCM writes it: `"3600s"`.
    package var timeToLive: String?
    /// The time at which the stub had read the request, before it parsed it.
    package var arrivedAt = Date.distantPast

    /// All keys for which gorush v1.22 declares a type (GORUSH.md §3). A wrong type in one makes gorush reject the whole
    /// batch. `sound` may be anything. Huawei and Live Activities are left out.
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
        // Go reads `null` and an absent key alike.
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

    /// The contribution to `counts`. A topic counts for iOS too (GORUSH.md §2.3).
    var count: Int { tokens.count + (topic?.isEmpty ?? true ? 0 : 1) }
}
