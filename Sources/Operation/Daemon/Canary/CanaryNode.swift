import Envelope
import Foundation
import PushClient
import Synchronization
import Transport
import Wire

/// The canary's access to the network: the server's own nodes.
///
/// A node delivers each message to its first reader only, and that is the server. So the canary publishes through the server's transport,
/// and gets the replies that this server publishes, or that the node delivers from another server on the database.
final class CanaryNode: NodeTransport {
    /// How many of the newest replies are kept. A check waits for a single reply at a time, and shares its topic with few other clients.
    private static let maximumReplyCount = 64

    private struct Reader {
        let topics: Set<String>
        let continuation: AsyncStream<NodeMessage>.Continuation
    }

    private let transport: any MessageTransport
    private let readers = Mutex<[UUID: Reader]>([:])

    init(transport: any MessageTransport) {
        self.transport = transport
    }

    func publish(_ message: NodeMessage) async throws { try await transport.publishToSelf(message.envelope) }

    func subscribe(to contentTopics: Set<String>, on pubsubTopic: String) async throws -> AsyncStream<NodeMessage> {
        let (messages, continuation) = AsyncStream.makeStream(
            of: NodeMessage.self, bufferingPolicy: .bufferingNewest(Self.maximumReplyCount))
        let id = UUID()
        readers.withLock { $0[id] = Reader(topics: contentTopics, continuation: continuation) }
        continuation.onTermination = { [weak self] _ in self?.readers.withLock { _ = $0.removeValue(forKey: id) } }
        return messages
    }

    /// A server publishes each reply while the canary waits for it.
    func history(of contentTopics: Set<String>, on pubsubTopic: String, since start: Int64) async throws -> [NodeMessage] { [] }

    /// Whether the canary waits for a reply on a topic.
    func isInterested(in contentTopic: String) -> Bool {
        readers.withLock { $0.values.contains { $0.topics.contains(contentTopic) } }
    }

    /// Passes on a reply, if the canary reads its topic. The canary ignores repetitions.
    func receive(_ envelope: WakuEnvelope) {
        let interested = readers.withLock { readers in readers.values.filter { $0.topics.contains(envelope.message.contentTopic) } }
        for reader in interested { reader.continuation.yield(NodeMessage(envelope)) }
    }
}

/// The transport of a server with a canary. The canary receives what the server publishes and what its nodes deliver.
struct CanaryTransport: MessageTransport {
    let transport: any MessageTransport
    let canary: CanaryNode

    func run(receiver: any EnvelopeReceiver) async throws {
        try await transport.run(receiver: CanaryReceiver(receiver: receiver, canary: canary))
    }

    func publish(_ envelope: WakuEnvelope) async throws {
        try await transport.publish(envelope)
        canary.receive(envelope)
    }

    func publish(_ envelope: WakuEnvelope, reportLoss: @escaping @Sendable () -> Void) async throws {
        try await transport.publish(envelope, reportLoss: reportLoss)
        canary.receive(envelope)
    }

    func publishToSelf(_ envelope: WakuEnvelope) async throws { try await transport.publishToSelf(envelope) }

    var canEcho: Bool { transport.canEcho }
    var healthIssues: [String] { transport.healthIssues }
    var warnings: [String] { transport.warnings }
}

/// A receiver that shares the replies to the canary with it.
private struct CanaryReceiver: EnvelopeReceiver {
    let receiver: any EnvelopeReceiver
    let canary: CanaryNode

    func isInterested(in contentTopic: String) -> Bool {
        receiver.isInterested(in: contentTopic) || canary.isInterested(in: contentTopic)
    }

    func discover(_ contentTopics: () -> Set<String>) async -> Bool { await receiver.discover(contentTopics) }

    func countUnreadable(_ envelopes: [WakuEnvelope]) { receiver.countUnreadable(envelopes) }

    func networkReturned() { receiver.networkReturned() }

    func receive(_ envelopes: [WakuEnvelope], origin: EnvelopeOrigin) async throws {
        for envelope in envelopes { canary.receive(envelope) }
        try await receiver.receive(envelopes, origin: origin)
    }
}
