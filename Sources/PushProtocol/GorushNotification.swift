/// One element of `notifications` in a POST to gorush `/api/push` (PROTOCOL.md §10, GORUSH.md §3).
package struct GorushNotification: Sendable, Equatable {
    package enum Platform: Int, Sendable {
        case ios = 1
        case android = 2
    }

    /// The two shapes of `data`. All values are strings; hex is lower case with 0x, `"0x"` when empty.
    package enum Content: Sendable, Equatable {
        case rfc71(chatID: String, message: String, installationIDs: [String])
        case statusGo(encryptedMessage: String, chatID: String, publicKey: String)
    }

    package var tokens: [String]
    package var platform: Platform
    /// The bundle id, for iOS only: for Android gorush would broadcast to an FCM topic (GORUSH.md §0 fact 8).
    package var topic: String?
    package var message: String
    package var data: Content

    package init(tokens: [String], platform: Platform, topic: String?, message: String, data: Content) {
        self.tokens = tokens
        self.platform = platform
        self.topic = topic
        self.message = message
        self.data = data
    }
}
