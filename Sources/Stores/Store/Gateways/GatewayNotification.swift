package import Bytes
import StatusCrypto

/// A gateway's notification: the device, and the request to Apple or Google.
///
/// It is stored as JSON with its push, so its property names must not change after a release.
package struct GatewayNotification: HoldsSecret, Sendable, Hashable, Decodable {
    package enum Platform: String, Sendable, Decodable, CaseIterable {
        case ios
        case android
    }

    /// The kind of an iPhone notification: APNs' `apns-push-type`.
    package enum Kind: String, Sendable, Decodable, CaseIterable {
        case alert
        case voip
        case background
    }

    package enum Priority: String, Sendable, Decodable, CaseIterable {
        case high
        case normal
    }

    /// The text that a phone shows. A part that is nil is not shown.
    package struct Alert: Sendable, Hashable, Decodable {
        package var title: String?
        package var body: String?
        /// A title's key in the app's texts, which are in the user's language.
        package var titleLocalizationKey: String?
        /// A body's key in the app's texts.
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
    /// The device's token at Apple or Google.
    package var token: DeviceToken
    /// The bundle id for iOS, with the suffix `.voip` for PushKit, or nil for Android.
    package var topic: String?
    package var kind: Kind
    package var priority: Priority
    /// The text. Nil means that nothing is shown. For Android this makes a data message, which the app's own code handles.
    package var alert: Alert?
    package var sound: String?
    package var badge: Int?
    /// Whether the notification wakes the app in the background.
    package var isContentAvailable = false
    /// Whether an app extension may change the notification before the phone shows it.
    package var isMutable = false
    package var threadID: String?
    /// The collapse id. If two notifications have the same id, a phone shows only the later notification.
    package var collapseID: String?
    /// Whether there is only a single attempt, because the client waits for its outcome.
    package var isTriedOnce = false
    /// True, or nil, as in rows of earlier versions.
    private var call: Bool?
    /// The data for the app's code.
    package var data: [String: String]

    /// How long somebody waits for an answer to a call.
    private static let callLifetime = Duration.seconds(60)

    /// Whether somebody waits for the device now, as for a call, so that it passes all other pushes.
    package var isCall: Bool {
        get { call ?? false }
        set { call = newValue ? true : nil }
    }

    /// How long it is delivered, and kept by Apple or Google, if that is less than a push's lifetime. A message of a softphone is tried for
    /// a moment and may be kept by them.
    package var lifetime: Duration? { isCall && !isTriedOnce ? Self.callLifetime : nil }

    package init(
        platform: Platform, token: DeviceToken, topic: String? = nil, kind: Kind, priority: Priority, alert: Alert? = nil,
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
