import JSON

extension GatewayNotification {
    /// What `init(from:)` reads. Written by hand: `JSONEncoder` takes nearly as long as the signature of a notification.
    package var json: String {
        var object = JSONObjectText()
        object.add("platform", platform.rawValue)
        object.add("token", token)
        object.add("topic", topic)
        object.add("kind", kind.rawValue)
        object.add("priority", priority.rawValue)
        object.add("alert", alert?.json)
        object.add("sound", sound)
        object.add("badge", badge)
        object.add("isContentAvailable", isContentAvailable)
        object.add("isMutable", isMutable)
        object.add("threadID", threadID)
        object.add("collapseID", collapseID)
        object.add("isTriedOnce", isTriedOnce)
        var members = JSONObjectText()
        for (name, value) in data { members.add(name, value) }
        object.add("data", members)
        return object.ended
    }
}

extension GatewayNotification.Alert {
    fileprivate var json: JSONObjectText {
        var object = JSONObjectText()
        object.add("title", title)
        object.add("body", body)
        object.add("titleLocalizationKey", titleLocalizationKey)
        object.add("bodyLocalizationKey", bodyLocalizationKey)
        return object
    }
}
