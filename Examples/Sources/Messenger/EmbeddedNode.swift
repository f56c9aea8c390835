import Foundation
import PushClient

/// The node inside the app: subscriptions and a short history in memory. A link connects it with the network; an app has a Waku node here.
actor EmbeddedNode: NodeTransport {
    /// The number of messages that the node keeps.
    private static let maximumMessageCount = 1_000

    private let link: any Link
    private var messages: [NodeMessage] = []
    private var subscribers: [UUID: (topics: Set<String>, continuation: AsyncStream<NodeMessage>.Continuation)] = [:]

    init(link: any Link) {
        self.link = link
    }

    func publish(_ message: NodeMessage) async throws {
        try await link.send(message)
        receive(message)
    }

    func subscribe(to contentTopics: Set<String>, on pubsubTopic: String) throws -> AsyncStream<NodeMessage> {
        let (stream, continuation) = AsyncStream.makeStream(of: NodeMessage.self)
        let id = UUID()
        subscribers[id] = (contentTopics, continuation)
        continuation.onTermination = { _ in Task { await self.unsubscribe(id) } }
        return stream
    }

    func history(of contentTopics: Set<String>, on pubsubTopic: String, since start: Int64) throws -> [NodeMessage] {
        messages.filter { contentTopics.contains($0.contentTopic) && ($0.timestamp ?? 0) >= start }
    }

    /// Receives what the link brings until the task is cancelled.
    func run() async {
        while !Task.isCancelled {
            for message in (try? await link.received()) ?? [] { receive(message) }
            try? await Task.sleep(for: .milliseconds(100))
        }
    }

    private func receive(_ message: NodeMessage) {
        messages = messages.suffix(Self.maximumMessageCount - 1) + [message]
        for subscriber in subscribers.values where subscriber.topics.contains(message.contentTopic) {
            subscriber.continuation.yield(message)
        }
    }

    private func unsubscribe(_ id: UUID) {
        subscribers[id] = nil
    }
}

/// The connection of the app's node to the network.
protocol Link: Sendable {
    func send(_ message: NodeMessage) async throws

    /// Returns the messages since the last call.
    func received() async throws -> [NodeMessage]
}
