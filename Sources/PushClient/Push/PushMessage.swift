import StatusCrypto

/// The event of a notification.
public struct PushMessage: Hashable, Sendable {
    /// The kind of event, which decides the displayed text and the applicable filters of the device.
    public enum Kind: Hashable, Sendable, CaseIterable {
        /// A message in a chat.
        case message
        /// A mention of the receiver in a chat. Mentions notify only in chats listed by the device (``Device/mentionChats``).
        case mention
        /// A request to join a community whose admin is the receiver.
        case requestToJoinCommunity
    }

    /// The kind of event.
    public var kind: Kind
    /// The id of the message, usually its Status message id of 32 bytes. A server delivers an id to a device once in ten minutes.
    public var messageID: [UInt8]
    /// The chat of the event.
    public var chat: ChatID?
    /// The author of the event.
    public var author: IdentityKey?
    /// The encrypted message, which the device receives.
    public var ciphertext: [UInt8] = []

    /// Creates a message.
    ///
    /// - Parameters:
    ///   - kind: The kind of event.
    ///   - messageID: The id, not empty: servers drop a request without one.
    public init(kind: Kind, messageID: [UInt8]) {
        self.kind = kind
        self.messageID = messageID
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
    /// The owner of the device.
    public var person: Person
    /// The installation id of the device.
    public var installationID: String
    /// The access token as the person or the server gave it.
    public var accessToken: String

    /// Creates a device to notify.
    public init(person: Person, installationID: String, accessToken: String) {
        self.person = person
        self.installationID = installationID
        self.accessToken = accessToken
    }
}

extension PushDevice: CustomStringConvertible, CustomReflectable {
    /// A description without the access token.
    public var description: String { "<installation \(installationID) of \(person.keyHash.hex)>" }
    /// A mirror without content.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

/// The result of a push for one device.
public struct DeviceReport: Hashable, Sendable {
    /// A server's report.
    public enum Outcome: Hashable, Sendable {
        /// The server accepted the push, without revealing whether it filters the push, so that a sender learns nothing about the
        /// receiver's settings.
        case accepted
        /// The access token is not the device's, or is no longer valid.
        case wrongToken
        /// The server had an internal error.
        case internalError
        /// The server does not know the device.
        case notRegistered
        /// The server refused with a code that this client does not know, or 0.
        case refused(code: Int32)
    }

    /// The hash of the owner's key, 128 hex digits, as the server gave it.
    public let personHash: String
    /// The installation id of the device.
    public let installationID: String
    /// The server's report.
    public let outcome: Outcome

    package init(personHash: String, installationID: String, outcome: Outcome) {
        self.personHash = personHash
        self.installationID = installationID
        self.outcome = outcome
    }
}

extension DeviceReport.Outcome: CustomStringConvertible {
    /// A phrase for a user, with a suggestion.
    public var description: String {
        switch self {
        case .accepted: "accepted"
        case .wrongToken: "wrong access token (WRONG_TOKEN); query the current one"
        case .internalError: "internal error of the server (INTERNAL_ERROR); retry later"
        case .notRegistered: "not registered at this server (NOT_REGISTERED)"
        case .refused(let code): "refused without a known reason (error \(code))"
        }
    }
}
