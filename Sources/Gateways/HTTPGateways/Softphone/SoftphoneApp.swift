package import Store

/// An app whose phones may be pushed to: the protocol names it by `AppId` and doesn't tell its platform (GATEWAY_PROTOCOLS.md §5).
package struct SoftphoneApp: Sendable, Equatable {
    package var platform: GatewayNotification.Platform
    /// Bundle id as Apple knows it, with `.voip` for PushKit, or nil for Android.
    package var topic: String?
    /// Its tokens are PushKit's, which wake the app for calls and orders, and never show a text.
    package var isPushKit: Bool
    /// Messages of these types are fetched by the app and shown to nobody.
    package var silentContentTypes: Set<String>

    package init(
        platform: GatewayNotification.Platform, topic: String? = nil, isPushKit: Bool = false, silentContentTypes: Set<String> = []
    ) {
        self.platform = platform
        self.topic = topic
        self.isPushKit = isPushKit
        self.silentContentTypes = silentContentTypes
    }
}
