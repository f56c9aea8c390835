/// What a gateway wants a phone to get: one device, and what Apple or Google are told about it.
///
/// It is stored with the push that carries it, so its names are not to be changed once released.
package struct GatewayNotification: Sendable, Hashable, Decodable {
    package enum Platform: String, Sendable, Decodable, CaseIterable {
        case ios
        case android
    }

    /// What an iPhone does with it: APNs' `apns-push-type`.
    package enum Kind: String, Sendable, Decodable, CaseIterable {
        case alert
        case voip
        case background
    }

    package enum Priority: String, Sendable, Decodable, CaseIterable {
        case high
        case normal
    }

    /// What is shown. For what is nil a phone shows nothing.
    package struct Alert: Sendable, Hashable, Decodable {
        package var title: String?
        package var body: String?
        /// Names of texts in the app, in the user's language.
        package var titleLocalizationKey: String?
        package var bodyLocalizationKey: String?

        package init(
            title: String? = nil, body: String? = nil, titleLocalizationKey: String? = nil, bodyLocalizationKey: String? = nil
        ) {
            self.title = title
            self.body = body
            self.titleLocalizationKey = titleLocalizationKey
            self.bodyLocalizationKey = bodyLocalizationKey
        }
    }

    package var platform: Platform
    /// The device's token at Apple or Google. A secret.
    package var token: String
    /// Bundle id for iOS, with `.voip` behind it where PushKit takes it; nil for Android.
    package var topic: String?
    package var kind: Kind
    package var priority: Priority
    /// nil: nothing is shown. For Android that makes it data only, which reaches the app's own code.
    package var alert: Alert?
    package var sound: String?
    package var badge: Int?
    /// Wakes the app in the background.
    package var isContentAvailable = false
    /// Lets an extension of the app change it before it is shown.
    package var isMutable = false
    package var threadID: String?
    /// A phone shows the later of two notifications with the same one.
    package var collapseID: String?
    /// Whoever asked for it waits for the first attempt and is told how that went: there is no second one.
    package var isTriedOnce = false
    /// What the app's code gets.
    package var data: [String: String]

    package init(
        platform: Platform, token: String, topic: String? = nil, kind: Kind, priority: Priority, alert: Alert? = nil,
        sound: String? = nil, data: [String: String]
    ) {
        self.platform = platform
        self.token = token
        self.topic = topic
        self.kind = kind
        self.priority = priority
        self.alert = alert
        self.sound = sound
        self.data = data
    }
}
