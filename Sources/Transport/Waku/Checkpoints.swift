package import Envelope

/// Remembers durably up to when a node's history is known to have been received, by pubsub topic. The server's store implements it.
package protocol CheckpointKeeper: Sendable {
    /// - Returns: nil when there is none yet.
    func checkpoint(of pubsubTopic: String) async throws -> Timestamp?

    /// Returns when it is durable.
    func saveCheckpoint(_ checkpoint: Timestamp, of pubsubTopic: String) async throws
}
