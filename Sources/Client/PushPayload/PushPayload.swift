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
    /// The names of the fields that the push contains and that cannot be read. Their properties are empty. A push is shown although one of
    /// its fields is damaged.
    public let damagedFields: [String]

    /// Reads the notification that Apple delivered.
    ///
    /// - Parameter userInfo: The `userInfo` of the notification's content.
    /// - Returns: The payload, or nil if the notification is not from a push server, or none of its fields can be read.
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
    /// - Returns: The payload, or nil if the message is not from a push server, or none of its fields can be read.
    public init?(data: [String: String]) {
        self.init { name in data[name].map(Value.text) ?? .missing }
    }

    /// Reads both the specification's format and the format that status-go's server uses.
    private init?(_ value: (String) -> Value) {
        let specified = ["chat_id", "message", "installation_ids"]
        let reference = ["chatId", "encryptedMessage", "publicKey"]
        let isSpecified = specified.contains { !value($0).isMissing }
        let names = isSpecified ? specified : reference
        guard names.contains(where: { !value($0).isMissing }) else { return nil }
        var readCount = 0
        var damaged: [String] = []
        /// A field is read alone, whatever the others are.
        func field<Content>(_ name: String, _ read: (Value) -> Content?) -> Content? {
            let value = value(name)
            guard !value.isMissing else { return nil }
            guard let content = read(value) else {
                damaged.append(name)
                return nil
            }
            readCount += 1
            return content
        }
        chatHash = field(names[0], \.bytes) ?? []
        ciphertext = field(names[1], \.bytes) ?? []
        installationIDs = isSpecified ? field(names[2], \.texts) ?? [] : []
        keyHash = isSpecified ? [] : field(names[2], \.bytes) ?? []
        deepLink = field("deepLink", \.text)
        guard readCount > 0 else { return nil }
        damagedFields = damaged
    }
}

extension PushPayload: CustomStringConvertible, CustomReflectable {
    /// A description without the content.
    public var description: String { "<push with \(ciphertext.count) bytes of ciphertext>" }
    /// A mirror without content.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
