import FoundationEssentials
package import PushProtocol

/// A notification under the name by which gorush's `logs` and its feedback speak of it.
package struct IdentifiedNotification: Sendable, Equatable {
    /// Unique and not to be guessed, for the feedback hook is not authenticated (GORUSH.md §8); never a token or a user's data.
    package var identifier: String
    package var notification: GorushNotification

    package init(identifier: String, notification: GorushNotification) {
        self.identifier = identifier
        self.notification = notification
    }

    /// What gorush adds to `counts` for it, unless its platform is disabled there: one for each token and one for a topic, also for iOS
    /// (GORUSH.md §2.3).
    var expectedCount: Int {
        notification.tokens.count + (notification.topic?.isEmpty ?? true ? 0 : 1)
    }
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

        init(_ identified: IdentifiedNotification) {
            let notification = identified.notification
            notif_id = identified.identifier
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
