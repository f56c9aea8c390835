import Envelope
import Wire

/// The messages read from a relay cache that may still be needed: the cache forgets what it returns, and a client reads its topics in turn.
///
/// The inbox keeps only messages on topics that were read before, so that a shard's traffic cannot displace a reply.
struct RelayInbox: Sendable {
    /// Enough for the requests in progress and the followed contacts.
    static let maximumTopicCount = 1_024
    /// The maximum number of envelopes per topic: far more than arrive during a wait for a reply.
    static let maximumEnvelopeCountPerTopic = 256

    private var envelopes: [Topic: [WakuEnvelope]] = [:]
    /// The topics, least recently read first.
    private var topics: [Topic] = []

    /// Starts to keep envelopes on this topic.
    mutating func open(_ topic: Topic) {
        topics.removeAll { $0 == topic }
        topics.append(topic)
        guard topics.count > Self.maximumTopicCount else { return }
        envelopes[topics.removeFirst()] = nil
    }

    /// Whether an envelope on that content topic would be kept.
    func wants(_ contentTopic: String) -> Bool {
        Topic(contentTopic: contentTopic).map(topics.contains) == true
    }

    /// Keeps an envelope if its topic is open.
    mutating func add(_ envelope: WakuEnvelope) {
        guard let topic = Topic(contentTopic: envelope.message.contentTopic), topics.contains(topic) else { return }
        envelopes[topic, default: []].append(envelope)
        if envelopes[topic, default: []].count > Self.maximumEnvelopeCountPerTopic { envelopes[topic]?.removeFirst() }
    }

    /// Returns the kept envelopes in the order of arrival. They stay in the inbox.
    func envelopes(on topic: Topic) -> [WakuEnvelope] {
        envelopes[topic] ?? []
    }
}
