package import Envelope

/// Durable storage of history checkpoints and holes, implemented by the server's store.
package protocol CheckpointKeeper: Sendable {
    /// - Parameter name: The checkpoint's name (``HistoryProgress/checkpointName(of:at:)``).
    /// - Returns: The time up to which the node's history is recorded, or nil if there is no checkpoint yet.
    func checkpoint(of name: String) async throws -> Timestamp?

    /// Saves a checkpoint, and what became of the topic's holes. Returns when both are durable.
    func save(_ progress: HistoryProgress) async throws

    /// Returns a topic's holes, in order.
    func holes(of pubsubTopic: String) async throws -> OpenHoles
}
