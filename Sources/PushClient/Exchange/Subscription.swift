package import Envelope
package import StatusCrypto
import Wire

/// A subscription to topics: returns first the messages in the node's store, then new ones as they arrive.
///
/// A value that is polled and returns each message once.
package struct Subscription: Sendable {
    /// A received message.
    package struct Arrival: Sendable {
        package let topic: TopicName
        package let message: OpenedMessage
        /// The time that the sender claims. A repetition of the message may claim another time.
        package let sentAt: Timestamp
    }

    private struct Entry: Sendable {
        let name: TopicName
        var reader: MessageReader
    }

    private var entries: [Topic: [Entry]] = [:]
    private var since: Timestamp

    /// - Parameters:
    ///   - topics: The topics that everyone can decrypt who knows their names.
    ///   - own: The topics with messages encrypted to the given key.
    ///   - since: The start of the search in the store.
    package init(to topics: [TopicName], own: [(topic: TopicName, key: PrivateKey)] = [], since: Timestamp) {
        self.since = since
        let all =
            topics.map { Entry(name: $0, reader: MessageReader(.topic($0))) }
            + own.map { Entry(name: $0.topic, reader: MessageReader(.asymmetric($0.key))) }
        for entry in all { entries[entry.name.topic, default: []].append(entry) }
    }

    /// Returns new messages in the order in which they were sent.
    package mutating func next(from node: Node) async throws -> [Arrival] {
        let now = node.now
        let envelopes = try await node.exchange.messages(on: Set(entries.keys), since: since)
        // A message that arrives later may claim an earlier time.
        since = max(since, now.advanced(by: .zero - Exchange.clockTolerance))
        var arrivals: [Arrival] = []
        for envelope in envelopes {
            guard let topic = Topic(contentTopic: envelope.message.contentTopic) else { continue }
            for (index, name) in (entries[topic] ?? []).map(\.name).enumerated() {
                // Modified in place: a reader has a large memory.
                guard let message = entries[topic]?[index].reader.read(envelope, now: now) else { continue }
                let sentAt = Timestamp(nanoseconds: envelope.message.timestamp ?? 0)
                arrivals.append(Arrival(topic: name, message: message, sentAt: sentAt))
            }
        }
        return arrivals.sorted { $0.sentAt < $1.sentAt }
    }
}
