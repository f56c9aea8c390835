package import Envelope

/// A transport of envelopes between the server and a network of topics: the embedded bus, or the REST API of Waku nodes.
package protocol MessageTransport: Sendable {
    /// Receives until the task is cancelled or the service group shuts down gracefully. Retries after network errors instead of throwing
    /// them.
    func run(receiver: any EnvelopeReceiver) async throws

    /// Publishes an envelope and returns once the network has accepted it. Never retries later: retrying is the caller's task.
    ///
    /// - Throws: `TransportError` if the network did not accept the envelope. The caller may retry with the same bytes, except after
    ///   `outdated` and `lost`.
    func publish(_ envelope: WakuEnvelope) async throws

    /// Publishes an envelope like ``publish(_:)``, and tells later if the network lost it.
    ///
    /// - Parameter reportLoss: Called at most once, after this function has returned, if the node that accepted the envelope had no peer to
    ///   pass it to. The node would drop the same bytes as seen, so the caller seals the message again.
    func publish(_ envelope: WakuEnvelope, reportLoss: @escaping @Sendable () -> Void) async throws

    /// Publishes an envelope that the server itself is to receive from the network, like a client's. Otherwise like ``publish(_:)``.
    func publishToSelf(_ envelope: WakuEnvelope) async throws

    /// Whether optional messages (echoes) may be published. False while a node's RLN quota is exhausted.
    var canEcho: Bool { get }

    /// The reasons why the transport is not usable, in words for an operator, or empty when it is ready.
    var healthIssues: [String] { get }

    /// The problems that leave the transport usable, in words for an operator.
    var warnings: [String] { get }
}

extension MessageTransport {
    package var warnings: [String] { [] }
    package var canEcho: Bool { true }
    package func publish(_ envelope: WakuEnvelope, reportLoss: @escaping @Sendable () -> Void) async throws { try await publish(envelope) }
    package func publishToSelf(_ envelope: WakuEnvelope) async throws { try await publish(envelope) }
}

/// Receives a transport's messages. The engine's `Intake` implements it.
package protocol EnvelopeReceiver: Sendable {
    /// Whether the server is interested in messages on this content topic. Rejects most of a shard's traffic before a payload is decoded.
    func isInterested(in contentTopic: String) -> Bool

    /// Looks up topics that another server with the same identity may have added, so that ``isInterested(in:)`` knows them.
    ///
    /// - Parameter contentTopics: Returns the topics. Not called if no other server can have added any.
    /// - Returns: False if they could not be looked up. The messages then have to be offered to ``receive(_:origin:)``, which tries again.
    func discover(_ contentTopics: () -> Set<String>) async -> Bool

    /// Counts messages of interest that have an unsupported version. A transport drops them instead of offering them to
    /// ``receive(_:origin:)``.
    func countUnreadable(_ envelopes: [WakuEnvelope])

    /// Called when a network without peers has peers again: what could not be published need not wait any longer.
    func networkReturned()

    /// Returns when each envelope is recorded durably, was already known, or is not for the server.
    ///
    /// A transport continues only after this function has returned: a node's GET is destructive, and an embedded POST answered with 200
    /// means recorded.
    /// - Throws: `Overload` if the intake is full, or the failed write's error. The receiver then has not accepted anything from the batch.
    func receive(_ envelopes: [WakuEnvelope], origin: EnvelopeOrigin) async throws
}

extension EnvelopeReceiver {
    package func discover(_ contentTopics: () -> Set<String>) async -> Bool { true }
    package func countUnreadable(_ envelopes: [WakuEnvelope]) {}
    package func networkReturned() {}
}

/// The reason why the intake is full: a fixed set, for the metrics. Such messages are rejected before they are recorded. Their sender or
/// the node's store keeps them.
package enum Overload: String, Error, CaseIterable, CustomStringConvertible {
    case messageCount = "message_count"
    case byteCount = "byte_count"
    /// Backfilled messages wait until the intake has capacity for them next to live messages.
    case history

    package var description: String { "the server's intake is full" }
}

/// The way by which envelopes reached the server.
package enum EnvelopeOrigin: Sendable {
    /// Live messages: never too old, whatever their timestamps say.
    case live
    /// Messages from a node's history: their sender may have timed out long ago.
    case backfilled
}
