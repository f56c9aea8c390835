import Envelope
import PushClient
import Synchronization
import Transport
import Wire

/// The canary's access to the network: the server's own nodes.
///
/// A node delivers each message to its first reader only, and that is the server. So the canary publishes through the server's transport,
/// and gets the replies that the server has published.
final class CanaryNode: MessageNode {
    /// The number of replies that are kept, the newest: a check waits for one reply at a time, and shares its topic with few other clients.
    private static let maximumReplyCount = 64

    private struct State {
        /// The topics that the canary reads.
        var topics: Set<Topic> = []
        var replies: [WakuEnvelope] = []
    }

    private let transport: any MessageTransport
    private let state = Mutex(State())

    init(transport: any MessageTransport) {
        self.transport = transport
    }

    func publish(_ envelope: WakuEnvelope) async throws {
        do {
            try await transport.publishToSelf(envelope)
        } catch {
            throw PushClientError.nodeUnreachable(reason: "\(error)")
        }
    }

    func messages(on pubsubTopic: String, topics: Set<Topic>, since start: Timestamp) async throws -> [WakuEnvelope] {
        state.withLock { state in
            if state.topics != topics { state = State(topics: topics) }
            return state.replies
        }
    }

    /// Keeps a reply that the server has published, if the canary reads its topic.
    func hear(_ envelope: WakuEnvelope) {
        guard let topic = Topic(contentTopic: envelope.message.contentTopic) else { return }
        state.withLock { state in
            guard state.topics.contains(topic) else { return }
            state.replies = state.replies.suffix(Self.maximumReplyCount - 1) + [envelope]
        }
    }
}

/// The transport of a server with a canary, which hears what the server publishes.
struct CanaryTransport: MessageTransport {
    let transport: any MessageTransport
    let canary: CanaryNode

    func run(receiver: any EnvelopeReceiver) async throws { try await transport.run(receiver: receiver) }

    func publish(_ envelope: WakuEnvelope) async throws {
        try await transport.publish(envelope)
        canary.hear(envelope)
    }

    func publishToSelf(_ envelope: WakuEnvelope) async throws { try await transport.publishToSelf(envelope) }

    var canEcho: Bool { transport.canEcho }
    var healthIssues: [String] { transport.healthIssues }
    var warnings: [String] { transport.warnings }
}
