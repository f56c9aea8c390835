import Bytes
import Envelope
import PushProtocol
import Wire

extension RecordedEnvelope {
    /// The columns of ``SQLRow/nextRecordedEnvelope(_:)``.
    package static let columns = "received_at, pubsub_topic, envelope"
}

extension Reply {
    /// The columns of ``SQLRow/nextReply(to:_:)``.
    package static let columns = "reply_type, recipient, sealed_reply, pubsub_topic, status_message_id"
}

extension SQLRow {
    /// Reads a recorded message.
    package mutating func nextRecordedEnvelope(_ id: Int64) throws -> RecordedEnvelope {
        RecordedEnvelope(
            id: id, receivedAt: try next(), envelope: WakuEnvelope(pubsubTopic: try next(), message: try nextMessage()))
    }

    /// Reads the reply to a message.
    package mutating func nextReply(to message: Int64, _ sealing: RowSealing) throws -> Reply {
        let (type, recipient): (MessageType, FixedBytes<33>) = (try next(), try next())
        let payload = try sealing.open(next(), count: 1, in: .reply(to: recipient, message: message))[0] ?? []
        return Reply(type: type, payload: payload, recipient: recipient, pubsubTopic: try next(), statusMessageID: try next())
    }

    /// Reads the payload of the reply to a message from the next three columns: the message, the recipient and the sealed payload.
    package mutating func nextPayload(_ sealing: RowSealing) throws -> [UInt8]? {
        let (message, recipient): (Int64, FixedBytes<33>) = (try next(), try next())
        return try next(sealing, in: .reply(to: recipient, message: message))
    }
}
