package import Envelope

/// Durable storage of history checkpoints and holes, implemented by the server's store.
package protocol CheckpointKeeper: Sendable {
    /// - Returns: The times up to which the nodes' histories of a topic are recorded, by the checkpoints' names
    ///   (``HistoryProgress/checkpointName(of:at:)``).
    func checkpoints(of pubsubTopic: String) async throws -> [String: Timestamp]

    /// Saves a checkpoint, and what became of the topic's holes. Returns when both are durable.
    func save(_ progress: HistoryProgress) async throws

    /// Returns a topic's holes, in order.
    func holes(of pubsubTopic: String) async throws -> OpenHoles
}
