package import Envelope

/// The functions of a node that a client needs: publish a message, and read received ones.
package protocol MessageNode: Sendable {
    /// Returns when the node has accepted the message, which does not mean that anyone has received it.
    func publish(_ envelope: WakuEnvelope) async throws

    /// Returns the node's messages on any of the topics since a time, perhaps more, and perhaps repeated.
    func messages(on pubsubTopic: String, topics: Set<Topic>, since start: Timestamp) async throws -> [WakuEnvelope]
}
