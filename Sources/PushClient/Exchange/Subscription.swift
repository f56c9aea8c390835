package import Envelope
package import StatusCrypto
import Wire

/// Topics that are listened to: first what the node's store has of them, then what is new, as it comes.
///
/// A value that is asked again and again; what it gave once it does not give again.
package struct Subscription: Sendable {
    /// What came in.
    package struct Arrival: Sendable {
        package let topic: TopicName
        package let message: OpenedMessage
        /// As the sender claims; who repeats the message may claim otherwise.
        package let sentAt: Timestamp
    }

    private struct Entry: Sendable {
        let name: TopicName
        var reader: MessageReader
    }

    private var entries: [Topic: [Entry]] = [:]
    private var since: Timestamp

    /// - Parameters:
    ///   - topics: what everybody can open who knows their names.
    ///   - own: what is encrypted to a key of one's own.
    ///   - since: the moment from which on the store is looked through.
    package init(to topics: [TopicName], own: [(topic: TopicName, key: PrivateKey)] = [], since: Timestamp) {
        self.since = since
        let all =
            topics.map { Entry(name: $0, reader: MessageReader(.topic($0))) }
            + own.map { Entry(name: $0.topic, reader: MessageReader(.asymmetric($0.key))) }
        for entry in all { entries[entry.name.topic, default: []].append(entry) }
    }

    /// What is new, in the order in which it was sent.
    package mutating func next(from node: Node) async throws(PushClientError) -> [Arrival] {
        let now = node.now
        let envelopes = try await node.exchange.messages(on: Set(entries.keys), since: since)
        // What comes in later may claim to be older.
        since = max(since, now.advanced(by: .zero - Exchange.clockTolerance))
        var arrivals: [Arrival] = []
        for envelope in envelopes {
            guard let topic = Topic(contentTopic: envelope.message.contentTopic) else { continue }
            for (index, name) in (entries[topic] ?? []).map(\.name).enumerated() {
                // In its place: a reader remembers much.
                guard let message = entries[topic]?[index].reader.read(envelope, now: now) else { continue }
                let sentAt = Timestamp(nanoseconds: envelope.message.timestamp ?? 0)
                arrivals.append(Arrival(topic: name, message: message, sentAt: sentAt))
            }
        }
        return arrivals.sorted { $0.sentAt < $1.sentAt }
    }
}
