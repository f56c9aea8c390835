/// A device and its notification settings (71/STATUS-PUSH-NOTIFICATION-SERVER), the same for all its servers.
public struct Device: Hashable, Sendable, Codable {
    /// The service that delivers to the device.
    public enum Service: Hashable, Sendable, Codable {
        /// Apple's service, for the app with that bundle id.
        case apn(topic: String)
        /// Google's service.
        case firebase
    }

    /// The device token of the service; for Apple 64 to 200 hex digits.
    public var deviceToken: String
    /// The service that delivers.
    public var service: Service
    /// Whether the device wants notifications.
    public var isEnabled = true
    /// The chats whose messages do not notify. A mention in such a chat notifies if the chat is among ``mentionChats``.
    public var blockedChats: Set<ChatID> = []
    /// The authors whose messages, mentions and requests to join do not notify, in any chat.
    public var blockedAuthors: Set<IdentityKey> = []
    /// The chats whose messages do not notify. A mention in such a chat notifies if the chat is among ``mentionChats``.
    public var mutedChats: Set<ChatID> = []
    /// Whether mentions notify in no chat, ``mentionChats`` included.
    public var blocksMentions = false
    /// The chats in which mentions notify. Mentions in all other chats are discarded, so a device gets none until its app lists its chats
    /// here: the protocol's rule, which the reference implementation has too.
    public var mentionChats: Set<ChatID> = []
    /// Whether only ``contacts`` may notify: each gets the access token encrypted, and no other sender gets it.
    public var isForContactsOnly = false
    /// The chat keys of the owner's contacts. Servers learn their number, and only if the device is for contacts only. A registration has
    /// space for 3,971 contacts and chats; contacts beyond that are left out, in the order of their keys.
    public var contacts: Set<IdentityKey> = []

    /// Creates a device. All other properties have a default.
    public init(deviceToken: String, service: Service) {
        self.deviceToken = deviceToken
        self.service = service
    }
}

extension Device: CustomStringConvertible, CustomReflectable {
    /// A description without the device token, the contacts and the chats.
    public var description: String {
        switch service {
        case .apn(let topic): "<device of \(topic) at APNs>"
        case .firebase: "<device at Firebase>"
        }
    }
    /// A mirror without content.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
