package import JSON
package import PushProtocol

/// A platform's templates by kind of push: the settings `gorush.types`, `gorush.ios` and `gorush.android`.
package struct NotificationTemplates: Sendable, Hashable {
    private var templates: [PushKind: NotificationTemplate]

    package init(_ template: (PushKind) -> NotificationTemplate) {
        templates = Dictionary(uniqueKeysWithValues: PushKind.allCases.map { ($0, template($0)) })
    }

    /// Creates the templates that apply when the operator hasn't set anything.
    package init() {
        self.init { kind in
            var template = NotificationTemplate()
            template.text = .literal(kind.defaultText)
            return template
        }
    }

    package subscript(kind: PushKind) -> NotificationTemplate { templates[kind] ?? NotificationTemplate() }
}

/// What the operator contributes to a notification.
package struct NotificationTemplate: Sendable, Hashable {
    /// The displayed text, or nil if the notification brings its own.
    package var text: PushText?
    /// The fields under gorush's names (``GorushField``), including `data`. The delivery's own values take precedence.
    package var fields: [String: JSON] = [:]
    /// Whether the phone displays nothing itself: it wakes the app, which decides. Android calls that a data message, Apple a background
    /// push.
    package var isSilent = false
    /// Whether iOS groups a chat's notifications, under a digest of its id.
    package var threadsByChat = false
    /// Android: the time for which Google keeps a push for an unreachable phone, if it is less than the push's remaining lifetime.
    package var timeToLive: Duration?

    package init() {}

    /// The text that the phone shows, or nil if it shows nothing.
    var shownText: PushText? { isSilent ? nil : text }

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
