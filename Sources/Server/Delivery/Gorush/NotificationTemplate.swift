package import JSON

/// The fields of every notification of a platform: the operator's settings `gorush.ios` and `gorush.android`.
package struct NotificationTemplate: Sendable, Hashable {
    package var texts = PushTexts()
    /// The fields under gorush's names (``GorushField``), including `data`. The delivery's own values take precedence.
    package var fields: [String: JSON] = [:]
    /// Whether the phone displays nothing itself: it wakes the app, which decides. Android calls that a data message, Apple a background
    /// push.
    package var isSilent = false
    /// iOS: whether notifications of a chat are grouped under a digest of its id.
    package var threadsByChat = false
    /// Android: the time for which Google keeps a push for an unreachable phone, if it is less than the push's remaining lifetime.
    package var timeToLive: Duration?

    package init() {}

    /// Adds a member to `data`, in addition to the delivery's own.
    package mutating func addData(_ text: String, named name: String) {
        fields.set(.text(text), at: "data", name)
    }

    /// The operator's members of `data`.
    var data: [String: JSON] { if case .object(let members)? = fields["data"] { members } else { [:] } }

    /// Whether `data` may have a key of that name: Apple and Google reserve some, and the delivery sets others (GORUSH.md §4).
    package static func mayHoldData(named name: String) -> Bool {
        let taken: Set = [
            "aps", "from", "message_type", "notification", "chat_id", "message", "installation_ids", "encryptedMessage", "chatId",
            "publicKey", GorushNotification.paddingName,
        ]
        return !name.isEmpty && !taken.contains(name) && !name.hasPrefix("google") && !name.hasPrefix("gcm")
    }
}
