import JSON
import Store

extension GorushNotification {
    /// Creates the notification exactly as the gateway describes it: operators' templates apply to pushes of 71 only.
    ///
    /// Android gets a `notification` only if a text is displayed, because a `notification` keeps the app's code from running in the
    /// background. A collapse id would add a `notification`, so it is left out.
    init(_ notification: GatewayNotification) {
        var template = NotificationTemplate()
        template.fields["priority"] = .text(notification.priority.rawValue)
        if notification.platform == .ios {
            template.fields["push_type"] = .text(notification.kind.rawValue)
            if notification.isContentAvailable { template.fields["content_available"] = .flag(true) }
            if notification.isMutable { template.fields["mutable_content"] = .flag(true) }
            if let sound = notification.sound { template.fields["sound"] = .text(sound) }
            if let badge = notification.badge { template.fields["badge"] = .number(Int64(badge)) }
            // The alert is an object: next to a localization key gorush would lose a plain message (GORUSH.md §3).
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
