package import Store

/// A rule that tells a device's app. The protocol doesn't tell the bundle id, so the operator configures it (GATEWAY_PROTOCOLS.md §2.2,
/// Decisions 2).
package struct AppRule: Sendable {
    package enum TokenKind: String, Sendable, CaseIterable {
        case apns
        case fcm
        case any
    }

    /// The regular expression searched in the header `User-Agent`, or in the empty text without that header. Nil means any.
    package var userAgent: String?
    package var token: TokenKind
    package var platform: GatewayNotification.Platform
    /// The bundle id, or nil for Android.
    package var topic: String?
    /// The bundle id of tokens for calls. nil means that the rule does not fit a device with such a token.
    package var voipTopic: String?

    package init(
        userAgent: String? = nil, token: TokenKind = .any, platform: GatewayNotification.Platform, topic: String? = nil,
        voipTopic: String? = nil
    ) {
        self.userAgent = userAgent
        self.token = token
        self.platform = platform
        self.topic = topic
        self.voipTopic = voipTopic
    }

    private static let maximumUserAgentCount = 512

    func fits(_ pushToken: PushToken, userAgent: String) -> Bool {
        switch (pushToken, token) {
        case (.apns, .fcm), (.fcm, .apns): return false
        case (.apns(_, .some), _) where voipTopic == nil: return false
        // Apple's tokens are invalid at Google, and the reverse.
        case (.apns, _) where platform != .ios, (.fcm, _) where platform != .android: return false
        default: break
        }
        guard let pattern = self.userAgent else { return true }
        guard let expression = try? Regex(pattern) else { return false }
        // An untrusted client chooses the length.
        return (try? expression.firstMatch(in: userAgent.prefix(Self.maximumUserAgentCount))) != nil
    }
}
