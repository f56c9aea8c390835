import Bytes
public import FoundationEssentials
import StatusCrypto
import Wire

/// A device and its notification settings (71/STATUS-PUSH-NOTIFICATION-SERVER), the same for all its servers.
public struct Device: Hashable, Sendable, Codable {
    /// The service that delivers to the device.
    public struct Service: Hashable, Sendable, Codable {
        /// The token type on the wire.
        private let code: Int32
        /// The app's bundle id for Apple's service, or nil for Google's.
        public let bundleID: String?

        var tokenType: TokenType { TokenType(rawValue: code) }

        /// Apple's service, for the app with that bundle id.
        public static func apn(bundleID: String) -> Service { Service(code: TokenType.apn.rawValue, bundleID: bundleID) }
        /// Google's service.
        public static let firebase = Service(code: TokenType.firebase.rawValue, bundleID: nil)
    }

    /// The people who may notify a device.
    public struct Audience: Hashable, Sendable {
        /// The chat keys of these people, or nil if anyone may notify the device.
        public let contacts: Set<PublicKey>?

        /// Everyone who knows the owner's key.
        public static let anyone = Audience(contacts: nil)
        /// The owner's contacts, by their chat keys. Each gets the access token encrypted, and no other sender gets it. Servers learn how
        /// many they are. A registration has space for 8,192 contacts and chats in all.
        public static func contacts(_ keys: Set<PublicKey>) -> Audience { Audience(contacts: keys) }
    }

    /// The service's device token as servers get it. For Apple, it consists of hex digits.
    public package(set) var deviceToken: String
    /// The service that delivers.
    public var service: Service
    /// Whether the device wants notifications.
    public var isEnabled = true
    /// The chats whose messages do not notify. A mention in such a chat notifies if the chat is among ``mentionChats``.
    public var blockedChats: Set<ChatID> = []
    /// The authors of whom no push of any kind notifies, in any chat.
    public var blockedAuthors: Set<PublicKey> = []
    /// The chats whose messages do not notify. A mention in such a chat notifies if the chat is among ``mentionChats``.
    public var mutedChats: Set<ChatID> = []
    /// Whether mentions notify in no chat, ``mentionChats`` included.
    public var blocksMentions = false
    /// The chats in which mentions notify. Mentions in all other chats are discarded, so a device won't hear about any until its app lists
    /// chats here. This is the protocol's rule, and the reference implementation follows it too.
    public var mentionChats: Set<ChatID> = []
    private var isForContactsOnly = false
    private var contacts: Set<PublicKey> = []
    /// Who may notify the device.
    public var audience: Audience {
        get { isForContactsOnly ? .contacts(contacts) : .anyone }
        set {
            isForContactsOnly = newValue.contacts != nil
            contacts = newValue.contacts ?? []
        }
    }

    /// Creates a device of Apple's service. All other properties have a default.
    ///
    /// - Parameters:
    ///   - apnsToken: The token of `application(_:didRegisterForRemoteNotificationsWithDeviceToken:)`, unchanged.
    ///   - bundleID: The app's bundle id.
    public init(apnsToken: Data, bundleID: String) {
        self.init(deviceToken: Hex.encode([UInt8](apnsToken)), service: .apn(bundleID: bundleID))
    }

    /// Creates a device of Google's service. All other properties have a default.
    ///
    /// - Parameter firebaseToken: The registration token of Firebase Cloud Messaging.
    public init(firebaseToken: String) {
        self.init(deviceToken: firebaseToken, service: .firebase)
    }

    package init(deviceToken: String, service: Service) {
        self.deviceToken = deviceToken
        self.service = service
    }
}

extension Device: CustomStringConvertible, CustomReflectable {
    /// A description without the device token, the contacts and the chats.
    public var description: String { service.bundleID.map { "<device of \($0) at APNs>" } ?? "<device at Firebase>" }
    /// A mirror without content.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
