import Envelope
import Foundation
import PushClient
import Synchronization
import Transport
import Wire

/// The canary's access to the network: the server's own nodes.
///
/// A node delivers each message to its first reader only, and that is the server. So the canary publishes through the server's transport,
/// and gets the replies that the server has published.
final class CanaryNode: NodeTransport {
    /// The number of replies that are kept, the newest: a check waits for one reply at a time, and shares its topic with few other clients.
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

    /// The server publishes each reply while the canary waits for it.
    func history(of contentTopics: Set<String>, on pubsubTopic: String, since start: Int64) async throws -> [NodeMessage] { [] }

    /// Passes on a reply that the server has published, if the canary reads its topic.
    func receive(_ envelope: WakuEnvelope) {
        let interested = readers.withLock { readers in readers.values.filter { $0.topics.contains(envelope.message.contentTopic) } }
        for reader in interested { reader.continuation.yield(NodeMessage(envelope)) }
    }
}

/// The transport of a server with a canary, which receives all messages that the server publishes.
struct CanaryTransport: MessageTransport {
    let transport: any MessageTransport
    let canary: CanaryNode

    func run(receiver: any EnvelopeReceiver) async throws { try await transport.run(receiver: receiver) }

    func publish(_ envelope: WakuEnvelope) async throws {
        try await transport.publish(envelope)
        canary.receive(envelope)
    }

    func publishToSelf(_ envelope: WakuEnvelope) async throws { try await transport.publishToSelf(envelope) }

    var canEcho: Bool { transport.canEcho }
    var healthIssues: [String] { transport.healthIssues }
    var warnings: [String] { transport.warnings }
}
