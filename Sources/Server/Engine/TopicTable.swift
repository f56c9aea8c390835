/// A multimap from 4-byte query topics to registrations, in two flat arrays.
///
/// A million registrations have two million query topics, and about 116 pairs of them have the same four bytes (PROTOCOL.md §2). A slot
/// has its topic in the first array, and its subscriber in the second. The arrays use open addressing with linear probing, so entries with
/// the same topic are in the same probe run. The load is 7/10 after growing and at most 7/8, which is 13.7 to 17.2 bytes an entry.
package struct TopicTable: Sendable {
    /// A registration, with the form of its query topic.
    package struct Subscriber: Hashable, Sendable {
        /// The registration's row id, of at most 61 bits.
        package var registration: Int64
        /// Whether the topic name has the specification's `0x` prefix. The reference's name doesn't.
        package var isPrefixed: Bool

        package init(registration: Int64, isPrefixed: Bool) {
            self.registration = registration
            self.isPrefixed = isPrefixed
        }

        /// A slot's word: the row id, the form, and a bit that empty and removed slots don't have.
        fileprivate init(word: UInt64) {
            registration = Int64(bitPattern: word) >> 2
            isPrefixed = word & 2 != 0
        }

        fileprivate var word: UInt64 { UInt64(bitPattern: registration << 2) | (isPrefixed ? 3 : 1) }
    }

    private static let empty: UInt64 = 0
    private static let removed: UInt64 = 2

    private var topics: [UInt32]
    /// Each slot's word for its subscriber, or ``empty`` or ``removed``.
    private var words: [UInt64]
    /// The number of slots that lengthen a probe run: entries and removed entries.
    private var usedCount = 0
    /// The number of entries.
    package private(set) var count = 0

    /// - Parameter minimumCapacity: The number of entries that fit without growing.
    package init(minimumCapacity: Int = 0) {
        let slotCount = Self.slotCount(for: minimumCapacity)
        topics = Array(repeating: 0, count: slotCount)
        words = Array(repeating: Self.empty, count: slotCount)
    }

    /// Returns whether the topic has an entry.
    package func contains(_ topic: UInt32) -> Bool {
        var index = home(of: topic)
        while words[index] != Self.empty {
            if words[index] != Self.removed, topics[index] == topic { return true }
            index = successor(of: index)
        }
        return false
    }

    /// Returns the topic's subscribers in no particular order.
    package func subscribers(of topic: UInt32) -> [Subscriber] {
        var found: [Subscriber] = []
        var index = home(of: topic)
        while words[index] != Self.empty {
            if words[index] != Self.removed, topics[index] == topic { found.append(Subscriber(word: words[index])) }
            index = successor(of: index)
        }
        return found
    }

    /// Adds an entry unless it exists.
    package mutating func insert(_ subscriber: Subscriber, topic: UInt32) {
        if (usedCount + 1) * 8 > words.count * 7 { rebuild() }
        var index = home(of: topic)
        var free: Int?
        while words[index] != Self.empty {
            if words[index] == subscriber.word, topics[index] == topic { return }
            if words[index] == Self.removed, free == nil { free = index }
            index = successor(of: index)
        }
        if free == nil { usedCount += 1 }
        topics[free ?? index] = topic
        words[free ?? index] = subscriber.word
        count += 1
    }

    /// Removes an entry if it exists.
    package mutating func remove(_ subscriber: Subscriber, topic: UInt32) {
        var index = home(of: topic)
        while words[index] != Self.empty {
            if words[index] == subscriber.word, topics[index] == topic {
                words[index] = Self.removed
                count -= 1
                return
            }
            index = successor(of: index)
        }
    }

    /// The slot at which a topic's probe run begins. Topics are the first bytes of a hash, but a peer can choose names, so the
    /// multiplication spreads them.
    private func home(of topic: UInt32) -> Int {
        let spread = (UInt64(topic) &* 0x9E37_79B9_7F4A_7C15) >> 32
        return Int(truncatingIfNeeded: (spread &* UInt64(words.count)) >> 32)
    }

    private func successor(of index: Int) -> Int {
        index + 1 == words.count ? 0 : index + 1
    }

    private mutating func rebuild() {
        let old = self
        self = TopicTable(minimumCapacity: count + count / 4)
        for (topic, word) in zip(old.topics, old.words) where word & 1 == 1 { insert(Subscriber(word: word), topic: topic) }
    }

    /// The number of slots for `count` entries at a load of at most 7/8.
    private static func slotCount(for count: Int) -> Int {
        max(16, (count + 1) * 8 / 7 + 1)
    }
}
