package import JSON

/// What every notification of a platform has in common: an operator's settings `gorush.ios` and `gorush.android`.
package struct NotificationTemplate: Sendable, Hashable {
    package var texts = PushTexts()
    /// Under gorush's names (``GorushField``), `data` among them. What delivery itself puts there goes before.
    package var fields: [String: JSON] = [:]
    /// Nothing is shown: the app is woken and shows what it wants. Android calls that a data message, Apple a background push.
    package var isSilent = false
    /// iOS: a chat's notifications are grouped under a name made of its id.
    package var threadsByChat = false
    /// Android: how long Google keeps a push for a phone that is away, if that is less than what is left of the push's life.
    package var timeToLive: Duration?

    package init() {}

    /// Adds to `data`, beside what delivery puts there.
    package mutating func addData(_ text: String, named name: String) {
        fields.set(.text(text), at: "data", name)
    }

    /// The operator's members of `data`.
    var data: [String: JSON] { if case .object(let members)? = fields["data"] { members } else { [:] } }

    /// Whether `data` may have a key of that name: Apple and Google keep some to themselves, and others are delivery's (GORUSH.md §4).
    package static func mayHoldData(named name: String) -> Bool {
        let taken: Set = [
            "aps", "from", "message_type", "notification", "chat_id", "message", "installation_ids", "encryptedMessage", "chatId",
            "publicKey",
        ]
        return !name.isEmpty && !taken.contains(name) && !name.hasPrefix("google") && !name.hasPrefix("gcm")
    }

    /// An upper bound for what it adds to a payload.
    var byteCount: Int {
        let threadByteCount = threadsByChat ? #","thread-id":"""#.utf8.count + ShortDigest.byteCount : 0
        return threadByteCount + fields.reduce(0) { $0 + GorushPayload.byteCount(of: $1.value, named: $1.key) }
    }
}
