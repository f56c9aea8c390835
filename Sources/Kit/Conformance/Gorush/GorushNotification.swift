/// A notification that the tested server has posted, with the fields that the rules judge (PROTOCOL.md §10).
struct GorushNotification: Decodable, Sendable {
    /// `data`, in either shape.
    struct Content: Decodable, Sendable {
        // The shape of 71.
        let chatID: String?
        let message: String?
        let installationIDs: [String]?
        // The reference's shape, whose chat id has another name.
        let referenceChatID: String?
        let encryptedMessage: String?
        let publicKey: String?

        private enum CodingKeys: String, CodingKey {
            case chatID = "chat_id"
            case message
            case installationIDs = "installation_ids"
            case referenceChatID = "chatId"
            case encryptedMessage, publicKey
        }
    }

    let tokens: [String]
    /// As gorush numbers them: 1 for iOS, 2 for Android.
    let platform: Int
    let topic: String?
    let message: String?
    let data: Content?

    /// Whether it carries a message, in either shape.
    func isAbout(_ message: [UInt8]) -> Bool { [data?.message, data?.encryptedMessage].contains(message.gorushText) }
}
