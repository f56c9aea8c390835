package import Store

/// Which app a device runs: the protocol has no bundle id, so the operator says it (GATEWAY_PROTOCOLS.md §2.2, Decisions 2).
package struct AppRule: Sendable {
    package enum TokenKind: String, Sendable, CaseIterable {
        case apns
        case fcm
        case any
    }

    /// Searched in the header `User-Agent`, or in the empty text without one; nil: any.
    package var userAgent: String?
    package var token: TokenKind
    package var platform: GatewayNotification.Platform
    /// Bundle id; nil for Android.
    package var topic: String?
    /// Where a token for calls goes; nil: such a device is of another rule.
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
        // Apple takes no token of Google's, nor Google one of Apple's.
        case (.apns, _) where platform != .ios, (.fcm, _) where platform != .android: return false
        default: break
        }
        guard let pattern = self.userAgent else { return true }
        guard let expression = try? Regex(pattern) else { return false }
        // A stranger chooses its length.
        return (try? expression.firstMatch(in: userAgent.prefix(Self.maximumUserAgentCount))) != nil
    }
}
