import Bytes
import JSON
import StatusCrypto

/// A platform by gorush's number.
package enum GorushPlatform: Int, Sendable {
    case ios = 1
    case android = 2
}

/// An element of `notifications` in a POST to gorush's `/api/push` (PROTOCOL.md §10, GORUSH.md §3).
struct GorushNotification: HoldsSecret, Sendable, Equatable {
    /// The shapes of `data`: two of 71, and a gateway's. All values are strings. Hex is lower case with 0x, `"0x"` when empty.
    enum Content: Sendable, Equatable {
        case rfc71(chatID: String, message: String, installationIDs: [String])
        case statusGo(encryptedMessage: String, chatID: String, publicKey: String)
        case plain([String: String])
    }

    /// When a notification expires, as Unix seconds, and as seconds from now, at least 1.
    struct Expiry: Sendable, Equatable {
        var unixSeconds: Int64
        var secondsLeft: Int64
    }

    /// The `notif_id`, which gorush repeats in `logs`: unique, and never a token or a user's data.
    var identifier: String?
    var tokens: [DeviceToken]
    var platform: GorushPlatform
    /// The bundle id, for iOS only: for Android gorush would broadcast to an FCM topic (GORUSH.md §0 fact 8).
    var topic: String?
    /// The displayed text. Nil means that the phone displays nothing.
    var text: PushText?
    /// iOS groups notifications with the same name.
    var threadIdentifier: String?
    var data: Content
    /// If two notifications have the same identifier, a phone shows the later notification. APNs takes up to 64 bytes (GORUSH.md §3).
    var collapseIdentifier: String?
    var expiry: Expiry?
    /// Text in `data` that hides how long the rest is. Nil turns padding off.
    var padding: String?
    /// The operator's fields.
    var template = NotificationTemplate()

    /// The number that gorush adds to `counts` for the notification, by counting its tokens, unless the platform is disabled there. A topic
    /// may add 1, also for iOS, but no version promises that (GORUSH.md §2.3).
    var expectedCount: Int { tokens.count }

    /// A POST's body: JSON in UTF-8, with sorted keys.
    static func body(_ notifications: [GorushNotification]) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(1_024 * notifications.count)
        JSON.object(["notifications": .list(notifications.map { .object($0.members) })]).write(to: &bytes)
        return bytes
    }

    var members: [String: JSON] {
        var members = template.fields
        if let identifier { members["notif_id"] = .text(identifier) }
        members["tokens"] = .list(tokens.map { .text($0.text) })
        members["platform"] = .number(Int64(platform.rawValue))
        if let topic { members["topic"] = .text(topic) }
        var data = template.data.merging(data.members) { $1 }
        if let padding { data[Self.paddingName] = .text(padding) }
        if !data.isEmpty { members["data"] = .object(data) }
        if case .literal(let message)? = text { members["message"] = .text(message) }
        // Platforms ignore each other's fields (GORUSH.md §3).
        switch platform {
        case .ios:
            if case .localizationKey(let key)? = text { members.set(.text(key), at: "alert", "loc-key") }
            if let threadIdentifier { members["thread-id"] = .text(threadIdentifier) }
            if let collapseIdentifier { members["collapse_id"] = .text(collapseIdentifier) }
            if let expiry { members["expiration"] = .number(expiry.unixSeconds) }
        case .android:
            if case .localizationKey(let key)? = text { members.set(.text(key), at: "android", "notification", "body_loc_key") }
            // FCM keeps four values of `collapse_key` per device, so it would drop messages.
            if let collapseIdentifier { members.set(.text(collapseIdentifier), at: "android", "notification", "tag") }
            if let expiry {
                let seconds = min(expiry.secondsLeft, template.timeToLive?.components.seconds ?? .max)
                members.set(.text("\(seconds)s"), at: "android", "ttl")
            }
        }
        return members
    }
}

extension GorushNotification.Content {
    fileprivate var members: [String: JSON] {
        switch self {
        case .rfc71(let chatID, let message, let installationIDs):
            ["chat_id": .text(chatID), "message": .text(message), "installation_ids": .list(installationIDs.map(JSON.text))]
        case .statusGo(let encryptedMessage, let chatID, let publicKey):
            ["encryptedMessage": .text(encryptedMessage), "chatId": .text(chatID), "publicKey": .text(publicKey)]
        case .plain(let values):
            values.mapValues(JSON.text)
        }
    }
}
