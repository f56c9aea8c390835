package import Envelope
package import StatusCrypto

/// Messages from their arrival until their reply is out, and up to when a node's history is known to be among them.
package protocol MessageJournal: Sendable {
    /// Writes messages down before anything acts on them.
    ///
    /// - Returns: for each message the number of its row, which rises; nil where the hash is known or stood earlier in the list.
    func record(_ envelopes: [(hash: Digest32, envelope: WakuEnvelope)], at now: Timestamp) async throws -> [Int64?]

    /// The rows of messages that wait for their decision, and of those whose reply is not known to be out.
    func unfinishedRows() async throws -> (undecided: [Int64], unreplied: [Int64])

    /// Those of these messages that wait for their decision, oldest first.
    func undecided(_ rows: [Int64]) async throws -> [RecordedEnvelope]

    /// Those of these messages that were decided and whose reply is not known to be out, oldest first.
    func unreplied(_ rows: [Int64]) async throws -> [(id: Int64, reply: Reply)]

    /// Up to when everything on the pubsub topic is known to have been received; nil when nothing is known.
    func checkpoint(of pubsubTopic: String) async throws -> Timestamp?

    /// An earlier one than before is taken as well: clocks are set back.
    func saveCheckpoint(_ checkpoint: Timestamp, of pubsubTopic: String) async throws
}

/// A message as it was recorded.
package struct RecordedEnvelope: Sendable, Equatable {
    /// The number of its row.
    package var id: Int64
    package var receivedAt: Timestamp
    package var envelope: WakuEnvelope

    package init(id: Int64, receivedAt: Timestamp, envelope: WakuEnvelope) {
        self.id = id
        self.receivedAt = receivedAt
        self.envelope = envelope
    }
}
