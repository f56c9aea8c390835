package import Envelope

/// What a client needs of a node: to send a message, and to see what came in.
package protocol MessageNode: Sendable {
    /// Returns when the node took the message, which does not mean that anybody has it.
    func publish(_ envelope: WakuEnvelope) async throws(PushClientError)

    /// What the node has on any of the topics from a moment on; may be more, and may repeat messages.
    func messages(on pubsubTopic: String, topics: Set<Topic>, since start: Timestamp) async throws(PushClientError) -> [WakuEnvelope]
}
