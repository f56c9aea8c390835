import Bytes
import StatusCrypto
import Wire

/// The event that a notification is about.
public struct PushMessage: Hashable, Sendable, Codable {
    /// The kind of event, which decides the displayed text and which filters apply. Later versions may add kinds.
    public struct Kind: Hashable, Sendable, Codable, CustomStringConvertible {
        /// The type on the wire.
        private let code: Int32
        var type: PushNotificationType { PushNotificationType(rawValue: code) }
        /// The kind in words.
        public let description: String

        /// A message in a chat.
        public static let message = Kind(code: PushNotificationType.message.rawValue, description: "message")
        /// A mention of the receiver in a chat. Mentions notify only in chats listed by the device (``Device/mentionChats``).
        public static let mention = Kind(code: PushNotificationType.mention.rawValue, description: "mention")
        /// A request to join a community whose admin is the receiver.
        public static let requestToJoinCommunity = Kind(
            code: PushNotificationType.requestToJoinCommunity.rawValue, description: "request to join a community")
        /// A contact request to the receiver. Servers from before 2026 notify about it as about a message.
        public static let contactRequest = Kind(code: PushNotificationType.contactRequest.rawValue, description: "contact request")
    }

    /// The kind of event.
    public var kind: Kind
    /// The message's id, usually its Status message id of 32 bytes. A server delivers an id to a device once in ten minutes.
    public var messageID: [UInt8]
    /// The chat in which it happened.
    public var chat: ChatID?
    /// The user who caused it, for example the message's author.
    public var author: PublicKey?
    /// The encrypted message, which the device receives if it is not longer than ``maximumWholeByteCount``.
    public var ciphertext: [UInt8] = []
    /// Whether a longer ciphertext is an error, ``PushClientError/Code/invalidPush``, before anything is sent. Otherwise the device gets a
    /// push that only wakes the app, and the report says so.
    public var mustArriveWhole = false

    /// The longest ciphertext that a device receives: 1,800 bytes. Apple and Google take 4,096 bytes. The ciphertext is in hex there, so
    /// 1,800 bytes take 3,600, and 496 are left for the hashed chat, the installation id, the text and the operator's fields.
    public static let maximumWholeByteCount = 1_800

    /// What is kept of a push that could not be sent, which was checked before.
    private enum CodingKeys: CodingKey {
        case kind, messageID, chat, author, ciphertext
    }

    /// Creates a message.
    ///
    /// - Parameters:
    ///   - kind: The kind of event.
    ///   - messageID: The id, not empty: clients refuse to send a push without an id, because servers drop it.
    public init(kind: Kind, messageID: [UInt8]) {
        self.kind = kind
        self.messageID = messageID
    }

    /// Checks the message before a request.
    ///
    /// - Throws: ``PushClientError/Code/invalidPush``.
    func check() throws {
        guard !messageID.isEmpty else { throw PushClientError.invalidPush("A push needs a message id: servers drop a push without one.") }
        guard !mustArriveWhole || ciphertext.count <= Self.maximumWholeByteCount else {
            throw PushClientError.invalidPush(
                "A push with \(ciphertext.count) bytes of ciphertext does not arrive whole; the most is \(Self.maximumWholeByteCount).")
        }
    }

    /// Returns 32 random bytes, for a push that is not about a message.
    public static func randomMessageID() -> [UInt8] {
        var random = SecureRandom()
        return random.bytes(32)
    }
}

extension PushMessage: CustomStringConvertible, CustomReflectable {
    /// A description without the ciphertext.
    public var description: String { "<push of a \(kind)>" }
    /// A mirror without content.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

/// A device to notify, and the access token that permits it.
public struct PushDevice: Hashable, Sendable {
    /// The device's owner.
    public var owner: Owner
    /// The device's installation id.
    public var installationID: String
    /// The access token as the owner or the server gave it.
    public var accessToken: String

    /// Creates a device to notify.
    public init(owner: Owner, installationID: String, accessToken: String) {
        self.owner = owner
        self.installationID = installationID
        self.accessToken = accessToken
    }
}

extension PushDevice: CustomStringConvertible, CustomReflectable {
    /// A description without the access token.
    public var description: String { "<installation \(installationID) of \(owner.keyHash.hex)>" }
    /// A mirror without content.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
