/// Which registrations a 4-byte topic may belong to: a multimap in one flat array.
///
/// A million clients listen on two million query topics, and about 116 pairs of them share their four bytes (PROTOCOL.md §2). Each entry
/// is one 64-bit word, topic in the upper half and subscriber in the lower, in open addressing with linear probing; equal topics are
/// neighbours in a probe run. Between a load of 7/10 after growing and 7/8 before, that is 9.1 to 11.5 bytes an entry.
package struct TopicTable: Sendable {
    /// A registration's row and which form of its query topic this is.
    package struct Subscriber: Hashable, Sendable {
        /// Row id in the store; below 2^30, so that the form fits beside it and no entry looks like an empty or a removed one.
        package var registration: Int64
        /// True for the specification's `0x…` form of the name, false for the reference's.
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
    /// Entries and tombstones: what lengthens a probe run.
    private var usedCount = 0
    /// Live entries.
    package private(set) var count = 0

    /// - Parameter minimumCapacity: entries that fit without growing.
    package init(minimumCapacity: Int = 0) {
        slots = Array(repeating: Self.empty, count: Self.slotCount(for: minimumCapacity))
    }

    /// Whether anybody listens on the topic.
    package func contains(_ topic: UInt32) -> Bool {
        var index = home(of: topic)
        while slots[index] != Self.empty {
            if slots[index] != Self.removed, UInt32(truncatingIfNeeded: slots[index] >> 32) == topic { return true }
            index = successor(of: index)
        }
        return false
    }

    /// Everybody who listens on the topic, in no particular order.
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

    /// Adds an entry unless it is there. A registration beyond `maximumRegistration` is not added.
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

    /// Removes an entry if it is there.
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

    /// Topics are the first bytes of a hash, but a peer can choose names; the multiplication spreads what it chose.
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

    /// Room for `count` entries at a load of at most 7/8.
    private static func slotCount(for count: Int) -> Int {
        max(16, (count + 1) * 8 / 7 + 1)
    }
}
