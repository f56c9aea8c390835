/// What a push server sent to this device, as Apple or Google delivered it.
///
///     func didReceive(_ request: UNNotificationRequest, …) {
///         guard let push = PushPayload(userInfo: request.content.userInfo) else { return }
///         let chat = chats.first { $0.id.hash == push.chatHash }  // ChatID.hash of PushClient
///     }
///
/// Decoding is synchronous and takes little memory, as a notification service extension needs it. The content comes from a sender through
/// a server: the extension learns who wrote it only from the decrypted ``ciphertext``.
public struct PushPayload: Hashable, Sendable {
    /// The SHAKE-256 of the chat's id, 64 bytes, or empty if the push is not about a chat.
    public let chatHash: [UInt8]
    /// The encrypted message, or empty if the sender left it out, as reference clients always do.
    public let ciphertext: [UInt8]
    /// The installations that the push is for, or empty if the server does not name them.
    public let installationIDs: [String]
    /// The hash of the owner's key, or empty if the server does not name it.
    public let keyHash: [UInt8]
    /// The link to what the app should open, like `status-app://chats`, if the push contains a link.
    public let deepLink: String?

    /// Reads the notification that Apple delivered.
    ///
    /// - Parameter userInfo: The `userInfo` of the notification's content.
    /// - Returns: The payload, or nil if the notification is not from a push server, or damaged.
    public init?(userInfo: [AnyHashable: Any]) {
        self.init { name in
            switch userInfo[name] {
            case nil: .missing
            case let text as String: .text(text)
            case let list as [Any]: .list(list.prefix(Value.maximumCount).compactMap { $0 as? String })
            default: .damaged
            }
        }
    }

    /// Reads the message that Google delivered.
    ///
    /// - Parameter data: The `data` of the remote message.
    /// - Returns: The payload, or nil if the message is not from a push server, or damaged.
    public init?(data: [String: String]) {
        self.init { name in data[name].map(Value.text) ?? .missing }
    }

    /// Reads both the specification's format and the format that status-go's server uses.
    private init?(_ value: (String) -> Value) {
        let specified = [value("chat_id"), value("message"), value("installation_ids")]
        let reference = [value("chatId"), value("encryptedMessage"), value("publicKey")]
        let link = value("deepLink")
        guard (specified + reference).contains(where: { !$0.isMissing }) else { return nil }
        let isSpecified = specified.contains { !$0.isMissing }
        guard let chatHash = (isSpecified ? specified[0] : reference[0]).bytes,
            let ciphertext = (isSpecified ? specified[1] : reference[1]).bytes,
            let installationIDs = isSpecified ? specified[2].texts : [],
            let keyHash = isSpecified ? [] : reference[2].bytes
        else { return nil }
        self.chatHash = chatHash
        self.ciphertext = ciphertext
        self.installationIDs = installationIDs
        self.keyHash = keyHash
        deepLink = link.text
    }
}

extension PushPayload: CustomStringConvertible, CustomReflectable {
    /// A description without the content.
    public var description: String { "<push with \(ciphertext.count) bytes of ciphertext>" }
    /// A mirror without content.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
