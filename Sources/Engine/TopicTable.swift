/// A multimap from 4-byte query topics to registrations, in one flat array.
///
/// A million registrations have two million query topics, and about 116 pairs of them have the same four bytes (PROTOCOL.md §2). Each entry
/// is one 64-bit word: the topic in the upper half, the subscriber in the lower. The array uses open addressing with linear probing, so
/// entries with the same topic are in one probe run. The load is 7/10 after growing and at most 7/8, which is 9.1 to 11.5 bytes an entry.
package struct TopicTable: Sendable {
    /// A registration, and the form of its query topic.
    package struct Subscriber: Hashable, Sendable {
        /// The row id of the registration, at most ``maximumRegistration``: the lower half of an entry also holds the form, and the words
        /// `empty` and `removed` must not equal an entry.
        package var registration: Int64
        /// Whether the topic name has the specification's `0x` prefix; the reference's name has none.
        package var isPrefixed: Bool

        package init(registration: Int64, isPrefixed: Bool) {
            self.registration = registration
            self.isPrefixed = isPrefixed
        }
    }

    package static let maximumRegistration: Int64 = 1 << 30 - 1
    private static let empty = UInt64.max
    private static let removed = UInt64.max - 1

    private var slots: [UInt64]
    /// The number of slots that lengthen a probe run: entries and removed entries.
    private var usedCount = 0
    /// The number of entries.
    package private(set) var count = 0

    /// - Parameter minimumCapacity: The number of entries that fit without growing.
    package init(minimumCapacity: Int = 0) {
        slots = Array(repeating: Self.empty, count: Self.slotCount(for: minimumCapacity))
    }

    /// Returns whether the topic has an entry.
    package func contains(_ topic: UInt32) -> Bool {
        var index = home(of: topic)
        while slots[index] != Self.empty {
            if slots[index] != Self.removed, UInt32(truncatingIfNeeded: slots[index] >> 32) == topic { return true }
            index = successor(of: index)
        }
        return false
    }

    /// Returns the subscribers of the topic in no particular order.
    package func subscribers(of topic: UInt32) -> [Subscriber] {
        var found: [Subscriber] = []
        var index = home(of: topic)
        while slots[index] != Self.empty {
            if slots[index] != Self.removed, UInt32(truncatingIfNeeded: slots[index] >> 32) == topic {
                let word = UInt32(truncatingIfNeeded: slots[index])
                found.append(Subscriber(registration: Int64(word >> 1), isPrefixed: word & 1 == 1))
            }
            index = successor(of: index)
        }
        return found
    }

    /// Adds an entry unless it exists. Ignores a registration above ``maximumRegistration``.
    package mutating func insert(_ subscriber: Subscriber, topic: UInt32) {
        guard let entry = Self.entry(subscriber, topic: topic) else { return }
        if (usedCount + 1) * 8 > slots.count * 7 { rebuild() }
        var index = home(of: topic)
        var free: Int?
        while slots[index] != Self.empty {
            if slots[index] == entry { return }
            if slots[index] == Self.removed, free == nil { free = index }
            index = successor(of: index)
        }
        if free == nil { usedCount += 1 }
        slots[free ?? index] = entry
        count += 1
    }

    /// Removes an entry if it exists.
    package mutating func remove(_ subscriber: Subscriber, topic: UInt32) {
        guard let entry = Self.entry(subscriber, topic: topic) else { return }
        var index = home(of: topic)
        while slots[index] != Self.empty {
            if slots[index] == entry {
                slots[index] = Self.removed
                count -= 1
                return
            }
            index = successor(of: index)
        }
    }

    /// The slot at which the probe run of a topic begins. Topics are the first bytes of a hash, but a peer can choose names, so the
    /// multiplication spreads them.
    private func home(of topic: UInt32) -> Int {
        let spread = (UInt64(topic) &* 0x9E37_79B9_7F4A_7C15) >> 32
        return Int(truncatingIfNeeded: (spread &* UInt64(slots.count)) >> 32)
    }

    private func successor(of index: Int) -> Int {
        index + 1 == slots.count ? 0 : index + 1
    }

    private mutating func rebuild() {
        let old = slots
        slots = Array(repeating: Self.empty, count: Self.slotCount(for: count + count / 4))
        usedCount = 0
        count = 0
        for word in old where word < Self.removed {
            let low = UInt32(truncatingIfNeeded: word)
            insert(
                Subscriber(registration: Int64(low >> 1), isPrefixed: low & 1 == 1), topic: UInt32(truncatingIfNeeded: word >> 32))
        }
    }

    private static func entry(_ subscriber: Subscriber, topic: UInt32) -> UInt64? {
        guard (0...maximumRegistration).contains(subscriber.registration) else { return nil }
        return UInt64(topic) << 32 | UInt64(subscriber.registration) << 1 | (subscriber.isPrefixed ? 1 : 0)
    }

    /// The number of slots for `count` entries at a load of at most 7/8.
    private static func slotCount(for count: Int) -> Int {
        max(16, (count + 1) * 8 / 7 + 1)
    }
}
