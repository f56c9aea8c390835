import JSON
import Store

extension GorushNotification {
    /// What a gateway wants a phone to get, exactly: operators' templates are for pushes of 71.
    ///
    /// Android gets no `notification` unless a text is shown: with one the app's own code would not run in the background. It carries no
    /// collapse id of ours either, for that would make one.
    init(_ notification: GatewayNotification) {
        var template = NotificationTemplate()
        template.fields["priority"] = .text(notification.priority.rawValue)
        if notification.platform == .ios {
            template.fields["push_type"] = .text(notification.kind.rawValue)
            if notification.isContentAvailable { template.fields["content_available"] = .flag(true) }
            if notification.isMutable { template.fields["mutable_content"] = .flag(true) }
            if let sound = notification.sound { template.fields["sound"] = .text(sound) }
            if let badge = notification.badge { template.fields["badge"] = .number(Int64(badge)) }
            // As an object: beside a localization key gorush would lose a plain message (GORUSH.md §3).
            let alert = [
                ("title", notification.alert?.title), ("body", notification.alert?.body),
                ("title-loc-key", notification.alert?.titleLocalizationKey), ("loc-key", notification.alert?.bodyLocalizationKey),
            ]
            for case (let name, let text?) in alert { template.fields.set(.text(text), at: "alert", name) }
        }
        self.init(
            tokens: [notification.token], platform: notification.platform == .ios ? .ios : .android, topic: notification.topic,
            text: notification.platform == .android ? notification.alert?.body.map { .literal($0) } : nil,
            threadIdentifier: notification.threadID, data: .plain(notification.data), collapseIdentifier: notification.collapseID,
            template: template)
    }
}
