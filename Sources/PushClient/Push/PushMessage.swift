import StatusCrypto

/// What to notify of.
public struct PushMessage: Hashable, Sendable {
    /// What happened; it decides the text that the device shows and which of its filters apply.
    public enum Kind: Hashable, Sendable, CaseIterable {
        /// A message in a chat.
        case message
        /// A mention of the receiver in a chat. Devices hear mentions only in chats that they listed (``Device/mentionChats``).
        case mention
        /// Somebody wants to join a community of which the receiver is an admin.
        case requestToJoinCommunity
    }

    /// What happened.
    public var kind: Kind
    /// Names the message, usually its Status message id of 32 bytes. A server delivers one id to one device once in ten minutes.
    public var messageID: [UInt8]
    /// The chat it happened in.
    public var chat: ChatID?
    /// Who did it.
    public var author: IdentityKey?
    /// The encrypted message, which the device gets to see.
    public var ciphertext: [UInt8] = []

    /// Describes what happened.
    ///
    /// - Parameters:
    ///   - kind: what happened.
    ///   - messageID: not empty: servers drop a request without one.
    public init(kind: Kind, messageID: [UInt8]) {
        self.kind = kind
        self.messageID = messageID
    }

    /// 32 random bytes, for a push that is about no message.
    public static func randomMessageID() -> [UInt8] {
        var random = SecureRandom()
        return random.bytes(32)
    }
}

/// A device that is to be notified, and the token that permits it.
public struct PushDevice: Hashable, Sendable {
    /// Whose device it is.
    public var person: Person
    /// Which of the person's devices.
    public var installationID: String
    /// As the person, or the server, gave it.
    public var accessToken: String

    /// Names a device.
    public init(person: Person, installationID: String, accessToken: String) {
        self.person = person
        self.installationID = installationID
        self.accessToken = accessToken
    }
}

/// What became of a push for one device.
public struct DeviceReport: Hashable, Sendable {
    /// What a server says.
    public enum Outcome: Hashable, Sendable {
        /// The server took it. Whether it filters the push is not told, so that a sender learns nothing of the receiver's wishes.
        case accepted
        /// The access token is not, or no longer, the device's.
        case wrongToken
        /// The server has trouble.
        case internalError
        /// The server knows no such device.
        case notRegistered
        /// Refused with a code that this client does not know, or 0.
        case refused(code: Int32)
    }

    /// The hash of the key of the device's owner, 128 hex digits, as the server gave it.
    public let personHash: String
    /// Which of the person's devices.
    public let installationID: String
    /// What became of it.
    public let outcome: Outcome

    package init(personHash: String, installationID: String, outcome: Outcome) {
        self.personHash = personHash
        self.installationID = installationID
        self.outcome = outcome
    }
}

extension DeviceReport.Outcome: CustomStringConvertible {
    /// A phrase for a person, with what to try next.
    public var description: String {
        switch self {
        case .accepted: "accepted"
        case .wrongToken: "wrong access token (WRONG_TOKEN); query for the present one"
        case .internalError: "the server has trouble (INTERNAL_ERROR); try again in a while"
        case .notRegistered: "not registered at this server (NOT_REGISTERED)"
        case .refused(let code): "refused without a known reason (error \(code))"
        }
    }
}
