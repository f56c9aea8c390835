import Envelope
import Wire

/// What came out of a relay cache and may still be asked for: a cache forgets what it gives, a client asks for one topic at a time.
///
/// Keeps only what is on a topic that was asked for before, so that the traffic of a shard cannot drive out an answer.
struct RelayInbox: Sendable {
    /// Topics that are kept: those of the requests under way, and of the contacts that are watched.
    static let maximumTopicCount = 1_024
    /// Envelopes kept of one topic: far more than come in while an answer is waited for.
    static let maximumEnvelopeCountPerTopic = 256

    private var envelopes: [Topic: [WakuEnvelope]] = [:]
    /// The topic that was not asked for longest is the first.
    private var topics: [Topic] = []

    /// From now on envelopes on this topic are kept.
    mutating func open(_ topic: Topic) {
        topics.removeAll { $0 == topic }
        topics.append(topic)
        guard topics.count > Self.maximumTopicCount else { return }
        envelopes[topics.removeFirst()] = nil
    }

    /// Whether an envelope with that content topic would be kept.
    func wants(_ contentTopic: String) -> Bool {
        Topic(contentTopic: contentTopic).map(topics.contains) == true
    }

    /// Keeps an envelope, if it is wanted.
    mutating func add(_ envelope: WakuEnvelope) {
        guard let topic = Topic(contentTopic: envelope.message.contentTopic), topics.contains(topic) else { return }
        envelopes[topic, default: []].append(envelope)
        if envelopes[topic, default: []].count > Self.maximumEnvelopeCountPerTopic { envelopes[topic]?.removeFirst() }
    }

    /// What was kept, in the order it came; it stays.
    func envelopes(on topic: Topic) -> [WakuEnvelope] {
        envelopes[topic] ?? []
    }
}
