/// A notification field that an operator may set for all notifications, under gorush's own name and type (GORUSH.md §3). A wrong type
/// makes gorush refuse the whole batch, and a wrong value makes Google's client drop the notification without an error.
package struct GorushField: Sendable {
    package enum Kind: Sendable {
        case text
        case flag
        /// A whole number, 0 or above.
        case count
        case choice([String])
        /// A color `#rrggbb`.
        case color
    }

    package var path: [String]
    package var kind: Kind
    /// Whether the field concerns the displayed text, so that notifications without text leave it out.
    package var isVisible: Bool

    private init(_ path: String..., kind: Kind, isVisible: Bool = true) {
        self.path = path
        self.kind = kind
        self.isVisible = isVisible
    }

    /// Returns the fields that an operator can set. The delivery sets some fields itself (`tokens`, `notif_id`, `collapse_id` …). The
    /// rest don't do what their names suggest (Android's `topic`, `sound` and `image`), or don't belong to a message (`event` …).
    package static func all(of platform: GorushPlatform) -> [GorushField] {
        switch platform {
        case .ios: ios
        case .android: android
        }
    }

    private static let ios = [
        GorushField("title", kind: .text),
        GorushField("alert", "title-loc-key", kind: .text),
        GorushField("alert", "subtitle", kind: .text),
        GorushField("sound", kind: .text),
        GorushField("badge", kind: .count),
        GorushField("category", kind: .text),
        GorushField("thread-id", kind: .text),
        GorushField("interruption_level", kind: .choice(["passive", "active", "time-sensitive", "critical"])),
        GorushField("mutable_content", kind: .flag),
        GorushField("content_available", kind: .flag, isVisible: false),
        GorushField("push_type", kind: .choice(["alert", "background"]), isVisible: false),
        GorushField("priority", kind: .choice(["high", "normal"]), isVisible: false),
    ]

    private static let android = [
        GorushField("title", kind: .text),
        GorushField("priority", kind: .choice(["high", "normal"]), isVisible: false),
        GorushField("android", "collapse_key", kind: .text, isVisible: false),
        GorushField("android", "restricted_package_name", kind: .text, isVisible: false),
        GorushField("android", "notification", "channel_id", kind: .text),
        GorushField("android", "notification", "title_loc_key", kind: .text),
        GorushField("android", "notification", "icon", kind: .text),
        GorushField("android", "notification", "color", kind: .color),
        GorushField("android", "notification", "sound", kind: .text),
        GorushField("android", "notification", "click_action", kind: .text),
    ]
}
