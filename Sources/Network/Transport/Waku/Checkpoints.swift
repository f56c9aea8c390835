package import Envelope

/// Durable storage of history checkpoints by pubsub topic, implemented by the server's store.
package protocol CheckpointKeeper: Sendable {
    /// - Returns: The time up to which the node's history is recorded, or nil if there is no checkpoint yet.
    func checkpoint(of pubsubTopic: String) async throws -> Timestamp?

    /// Returns when the checkpoint is durable.
    func saveCheckpoint(_ checkpoint: Timestamp, of pubsubTopic: String) async throws
}
