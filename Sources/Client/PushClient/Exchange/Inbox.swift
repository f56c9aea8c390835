package import Envelope
import Tasks

/// A subscription's messages, kept until they are taken. The subscription ends with the inbox.
package final class Inbox: Sendable {
    /// The newest messages are kept, far more than arrive on a client's topics between two reads.
    private static let maximumMessageCount = 4_096

    private struct Content {
        var envelopes: [WakuEnvelope] = []
        /// The reason why the subscription has ended.
        var failure: (any Error)?
    }

    private let content: Monitor<Content>
    private let task: Task<Void, Never>

    /// Subscribes. Returns when the node receives the messages.
    init(_ transport: some NodeTransport, to topics: Set<Topic>, on pubsubTopic: String) async throws {
        let messages = try await transport.subscribe(to: Set(topics.map(\.contentTopic)), on: pubsubTopic)
        let content = Monitor(Content())
        self.content = content
        task = Task {
            var failure: any Error = PushClientError.nodeUnreachable(reason: "the subscription has ended")
            do {
                for try await message in messages {
                    content.update { content in
                        content.envelopes.append(message.envelope)
                        if content.envelopes.count > Self.maximumMessageCount { content.envelopes.removeFirst() }
                    }
                }
            } catch {
                failure = error
            }
            content.update { [failure] in $0.failure = failure }
        }
    }

    deinit { task.cancel() }

    /// Removes and returns the messages that have arrived.
    ///
    /// - Throws: The error with which the subscription has ended, after its last messages are taken.
    package func take() throws -> [WakuEnvelope] {
        let (envelopes, failure) = content.update { content in
            defer { content.envelopes = [] }
            return (content.envelopes, content.failure)
        }
        if let failure, envelopes.isEmpty { throw failure }
        return envelopes
    }

    /// Returns when there is a message, or an error, to be taken. Also when the task is cancelled.
    package func wait() async {
        await content.wait { !$0.envelopes.isEmpty || $0.failure != nil ? () : nil }
    }
}
