/// A device, and what push servers are to do for it (71/STATUS-PUSH-NOTIFICATION-SERVER): the same for all its servers.
public struct Device: Hashable, Sendable, Codable {
    /// Who delivers to the device.
    public enum Service: Hashable, Sendable, Codable {
        /// Apple's, for the app with that bundle id.
        case apn(topic: String)
        /// Google's.
        case firebase
    }

    /// What the service knows the device by; for Apple's 64 to 200 hex digits.
    public var deviceToken: String
    /// Who delivers.
    public var service: Service
    /// Whether the device wants to be notified at all.
    public var isEnabled = true
    /// Chats of which the device does not want to hear.
    public var blockedChats: Set<ChatID> = []
    /// People of whom the device does not want to hear, in any chat.
    public var blockedAuthors: Set<IdentityKey> = []
    /// Chats whose messages shall not notify, while mentions do.
    public var mutedChats: Set<ChatID> = []
    /// Whether mentions shall not notify.
    public var blocksMentions = false
    /// The chats in which mentions notify; a server delivers no mention from another chat.
    public var allowedMentionsChats: Set<ChatID> = []
    /// Whether only ``contacts`` may notify: each gets the access token encrypted, and nobody else gets it.
    public var isForContactsOnly = false
    /// The chat keys of the owner's contacts. Servers learn their number, and only if the device is for contacts only.
    public var contacts: Set<IdentityKey> = []

    /// Describes a device; everything else has a default.
    public init(deviceToken: String, service: Service) {
        self.deviceToken = deviceToken
        self.service = service
    }
}
