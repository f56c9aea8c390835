package import StatusCrypto
package import Wire

/// The decision about a message.
package enum MessageDecision: Sendable, Equatable {
    /// The message changes nothing and gets no reply.
    case ignored(IgnoreReason)
    /// The message has a reply, which must still be published.
    case answered(Reply)
    /// The message was processed and gets no (further) reply.
    case silent
}

/// Why a message was ignored: the number is stored.
package enum IgnoreReason: Int64, Sendable {
    case notForUs = 1
    case invalid = 2
    /// The message was too old when it was backfilled from a node's store.
    case tooOld = 3
}

extension MessageDecision {
    package var milestone: Milestone {
        switch self {
        case .ignored(.notForUs), .ignored(.tooOld): .ignored
        case .ignored(.invalid): .invalid
        case .answered, .silent: .processed
        }
    }
}

/// The answer to a message before it is signed and encrypted, so that it can be made again after a crash.
package struct Reply: HoldsSecret, Sendable, Equatable {
    package var type: MessageType
    /// The protobuf message of that type.
    package var payload: [UInt8]
    /// The compressed public key of the sender that is answered.
    package var recipient: FixedBytes<33>
    package var pubsubTopic: String
    /// Names the message that is answered, where it can be asked again (PROTOCOL.md §9).
    package var statusMessageID: Digest32?
    /// Which of the recipient's installations the answer to a registration is about; nil where nobody can tell, which is any. Not read
    /// back.
    package var installationID: String?

    package init(
        type: MessageType, payload: [UInt8], recipient: FixedBytes<33>, pubsubTopic: String, statusMessageID: Digest32? = nil,
        installationID: String? = nil
    ) {
        self.type = type
        self.payload = payload
        self.recipient = recipient
        self.pubsubTopic = pubsubTopic
        self.statusMessageID = statusMessageID
        self.installationID = installationID
    }
}
