import FoundationEssentials
package import PushProtocol

/// A notification under the name by which gorush's `logs` and its feedback speak of it.
package struct IdentifiedNotification: Sendable {
    /// Unique and not to be guessed, for the feedback hook is not authenticated (GORUSH.md §8); never a token or a user's data.
    package var identifier: String
    package var notification: GorushNotification
    /// Of two notifications with the same one a phone shows the later: APNs takes up to 64 bytes (GORUSH.md §3).
    package var collapseIdentifier: String?
    /// When it is worth nothing any more: Unix seconds, and seconds from now, of which there is at least one.
    package var expiry: (unixSeconds: Int64, secondsLeft: Int64)?

    package init(
        identifier: String, notification: GorushNotification, collapseIdentifier: String? = nil,
        expiry: (unixSeconds: Int64, secondsLeft: Int64)? = nil
    ) {
        self.identifier = identifier
        self.notification = notification
        self.collapseIdentifier = collapseIdentifier
        self.expiry = expiry
    }

    /// What gorush adds to `counts` for it, unless its platform is disabled there: one for each token. For a topic it adds one more,
    /// also for iOS, which no version promises (GORUSH.md §2.3).
    var expectedCount: Int { notification.tokens.count }
}

/// The body of a POST to `/api/push` (PROTOCOL.md §10, GORUSH.md §2.1).
enum GorushRequestBody {
    /// The JSON, UTF-8, the keys in alphabetical order.
    static func encode(_ notifications: [IdentifiedNotification]) throws -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return try [UInt8](encoder.encode(["notifications": notifications.map(Element.init)]))
    }

    private struct Element: Encodable {
        let notif_id: String
        let tokens: [String]
        let platform: Int
        let topic: String?
        let message: String
        let data: [String: Value]
        let collapse_id: String?
        let expiration: Int64?
        let android: Android?

        init(_ identified: IdentifiedNotification) {
            let notification = identified.notification
            notif_id = identified.identifier
            let isForIOS = notification.platform == .ios
            // Each platform ignores the other's (GORUSH.md §3). Of `collapse_key` FCM keeps four a device, so it would drop messages.
            collapse_id = isForIOS ? identified.collapseIdentifier : nil
            expiration = isForIOS ? identified.expiry?.unixSeconds : nil
            android =
                isForIOS || (identified.collapseIdentifier == nil && identified.expiry == nil)
                ? nil
                : Android(
                    ttl: identified.expiry.map { "\($0.secondsLeft)s" },
                    notification: identified.collapseIdentifier.map { Android.Notification(tag: $0) })
            tokens = notification.tokens
            platform = notification.platform.rawValue
            topic = notification.topic
            message = notification.message
            data =
                switch notification.data {
                case .rfc71(let chatID, let message, let installationIDs):
                    ["chat_id": .string(chatID), "message": .string(message), "installation_ids": .strings(installationIDs)]
                case .statusGo(let encryptedMessage, let chatID, let publicKey):
                    ["encryptedMessage": .string(encryptedMessage), "chatId": .string(chatID), "publicKey": .string(publicKey)]
                }
        }
    }

    /// FCM's AndroidConfig.
    private struct Android: Encodable {
        struct Notification: Encodable {
            let tag: String
        }

        let ttl: String?
        let notification: Notification?
    }

    private enum Value: Encodable {
        case string(String)
        case strings([String])

        func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            switch self {
            case .string(let string): try container.encode(string)
            case .strings(let strings): try container.encode(strings)
            }
        }
    }
}
