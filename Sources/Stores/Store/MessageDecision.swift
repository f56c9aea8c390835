package import Bytes
import StatusCrypto
package import Wire

/// The decision about a message.
package enum MessageDecision: Sendable, Equatable {
    /// The message doesn't change anything and isn't replied to.
    case ignored(IgnoreReason)
    /// A reply to the message must still be published.
    case answered(Reply)
    /// The message was processed, and there is no reply to publish.
    case silent
}

/// The reason why a message was ignored. The raw value is stored.
package enum IgnoreReason: Int64, Sendable, CaseIterable {
    case notForUs = 1
    case invalid = 2
    /// The message was already too old for its type when it was backfilled.
    case tooOld = 3
}

extension MessageDecision {
    /// The event that the ledger counts for the decision.
    package var milestone: Milestone {
        switch self {
        case .ignored(.notForUs), .ignored(.tooOld): .ignored
        case .ignored(.invalid): .invalid
        case .answered, .silent: .processed
        }
    }
}

/// A reply before it is signed and encrypted. The store keeps it, so that the server can publish it after a crash.
package struct Reply: HoldsSecret, Sendable, Equatable {
    package var type: MessageType
    /// The protobuf message of that type.
    package var payload: [UInt8]
    /// The request sender's compressed public key.
    package var recipient: FixedBytes<33>
    package var pubsubTopic: String
    /// A push request's Status message id, by which a repeated request finds the reply (PROTOCOL.md §9), or nil for other replies.
    package var statusMessageID: Digest32?
    /// A registration's installation, or nil if the registration names none. The store does not return it.
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

    /// The hashed installation id's prefix, as in registrations' rows, or nil if the reply doesn't name an installation.
    package var installationPrefix: Int64? { installationID.map { SHA256.hash($0.utf8Span.span).prefix } }
}
