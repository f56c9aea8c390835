import Envelope
import Wire

/// The messages for the next GET. A node's topics share the cache (WAKU_REST.md §2.1).
struct MessageCache {
    /// nwaku's default since 0.36.
    static let defaultCapacity = 50

    private let capacity: Int
    private var envelopes: [WakuEnvelope] = []

    init(capacity: Int = MessageCache.defaultCapacity) {
        self.capacity = max(1, capacity)
    }

    /// Adds a message unless it is present on any topic.
    ///
    /// A full cache silently drops the message with the smallest *sender's* timestamp and puts its last message into that slot.
    mutating func add(_ envelope: WakuEnvelope) {
        guard !envelopes.contains(where: { $0.message == envelope.message }) else { return }
        if envelopes.count >= capacity, let oldest = envelopes.indices.min(by: { timestamp($0) < timestamp($1) }) {
            envelopes.swapAt(oldest, envelopes.count - 1)
            envelopes.removeLast()
        }
        envelopes.append(envelope)
    }

    /// Removes and returns all messages on a topic.
    mutating func take(pubsubTopic: String) -> [WakuMessage] {
        defer { remove(pubsubTopic: pubsubTopic) }
        return envelopes.filter { $0.pubsubTopic == pubsubTopic }.map(\.message)
    }

    mutating func remove(pubsubTopic: String) {
        envelopes.removeAll { $0.pubsubTopic == pubsubTopic }
    }

    private func timestamp(_ index: Int) -> Int64 {
        envelopes[index].message.timestamp ?? 0
    }
}
