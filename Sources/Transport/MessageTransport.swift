package import Envelope

/// Carries envelopes between the server and a network of topics. Two kinds exist: the embedded bus and a Waku node's REST API.
package protocol MessageTransport: Sendable {
    /// Receives until the task is cancelled or the service group shuts down gracefully; trouble with the network is retried, not thrown.
    func run(receiver: any EnvelopeReceiver) async throws

    /// Hands an envelope to the network and returns when the network took it. It is offered once: whatever waits until it is offered
    /// again waits at the caller.
    ///
    /// - Throws: `TransportError` when it was not taken; the caller may try again with the same bytes, save for `outdated`.
    func publish(_ envelope: WakuEnvelope) async throws

    /// Whether there is room for what need not be said: false while a node's quota of messages is used up.
    var canEcho: Bool { get }

    /// What keeps the transport from being usable, in words for an operator; empty when it is ready.
    var healthIssues: [String] { get }

    /// What is wrong while the transport is usable all the same, in words for an operator.
    var warnings: [String] { get }
}

extension MessageTransport {
    package var warnings: [String] { [] }
    package var canEcho: Bool { true }
}

/// Takes what a transport received. The engine implements it.
package protocol EnvelopeReceiver: Sendable {
    /// Whether anything on this content topic could be for us. Asked before the payload is decoded; says no to most of a shard's traffic.
    func isInterested(in contentTopic: String) -> Bool

    /// Returns when every one of the envelopes is recorded durably, was known before, or is not for us.
    ///
    /// A node's GET is destructive and an embedded POST answered 200 means recorded, so a transport goes on only after this returned.
    /// - Throws: `Overload` when there is no room, or else that the record could not be written; nothing of the batch was accepted then.
    func receive(_ envelopes: [WakuEnvelope], origin: EnvelopeOrigin) async throws
}

/// Why there is no room for messages: a fixed set, for the metrics. They are refused before they are recorded, and whoever has them, a
/// sender or a node's store, keeps them.
package enum Overload: String, Error, CaseIterable, CustomStringConvertible {
    case messageCount = "message_count"
    case byteCount = "byte_count"
    /// A node's history waits until there is room beside what comes in live.
    case history

    package var description: String { "the server has no room for more messages" }
}

/// How envelopes reached the server.
package enum EnvelopeOrigin: Sendable {
    /// They have just been published: whatever their timestamps say, they are not old.
    case live
    /// From a node's history: their sender may have given up waiting long ago.
    case backfilled
}
