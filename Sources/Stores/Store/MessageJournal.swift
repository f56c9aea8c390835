package import Bytes
package import Envelope
import StatusCrypto

/// The messages from their arrival to their reply's publication, and the history checkpoints.
package protocol MessageJournal: Sendable {
    /// Records messages before anything acts on them.
    ///
    /// - Returns: Each message's row, or nil if it is not this server's to decide: the hash is already recorded or is earlier in the list,
    ///   or another server owns the message (``ClusterStore``).
    func record(_ envelopes: [(hash: Digest32, envelope: WakuEnvelope)], at now: Timestamp) async throws -> [Int64?]

    /// Lets undecided messages age from their senders' times instead of their arrival.
    func ageFromSending(_ rows: [Int64]) async throws

    /// Returns the rows of undecided messages, and of those whose reply was not marked as published. Call this once, before the first
    /// ``record(_:at:)``.
    func unfinishedRows() async throws -> (undecided: [Int64], unreplied: [Int64])

    /// Returns those of these messages that are undecided and that this server owns, oldest first.
    func undecided(_ rows: [Int64]) async throws -> [RecordedEnvelope]

    /// Returns the replies to these messages that were not marked as published, oldest first.
    func unreplied(_ rows: [Int64]) async throws -> [(id: Int64, receivedAt: Timestamp, reply: Reply)]

    /// Returns a pubsub topic's history checkpoint, before which all messages are recorded. Nil means that none was saved.
    func checkpoint(of pubsubTopic: String) async throws -> Timestamp?

    /// Saves a history checkpoint. It may be earlier than the previous checkpoint, because clocks can be set back.
    func saveCheckpoint(_ checkpoint: Timestamp, of pubsubTopic: String) async throws
}

/// A recorded message.
package struct RecordedEnvelope: Sendable, Equatable {
    /// The message's row.
    package var id: Int64
    package var receivedAt: Timestamp
    package var envelope: WakuEnvelope

    package init(id: Int64, receivedAt: Timestamp, envelope: WakuEnvelope) {
        self.id = id
        self.receivedAt = receivedAt
        self.envelope = envelope
    }
}
