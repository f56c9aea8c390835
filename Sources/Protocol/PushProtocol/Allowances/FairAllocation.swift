package import Envelope
import Platform

/// A budget that keys share. The used amount decays evenly, and a key with more use than others waits for them.
///
/// A key may use more while its use is below four times the free amount (the dynamic threshold of shared buffers). Therefore a single key
/// gets four fifths of the budget, and several keys get equal fractions. A part stays free for a key without use. Times are monotonic.
package struct FairAllocation<Key: Hashable & Sendable>: Sendable {
    /// The number of keys below which no sweep takes place. A sweep drops keys with little use.
    static var smallCount: Int { 1_024 }
    /// The amount below which a sweep drops a key.
    private static var smallestUse: Double { 1 }
    /// How many times the free amount a key may use.
    private static var freeMultiple: Double { 4 }

    private struct Use: Sendable {
        var amount = 0.0
        var time: Timestamp

        func amount(at now: Timestamp, decay: Duration) -> Double {
            let elapsed = Duration.nanoseconds(max(0, now.nanoseconds - time.nanoseconds))
            return amount * exp(-(elapsed / decay))
        }
    }

    private let capacity: Double
    private let decay: Duration
    private var total = Use(time: Timestamp(nanoseconds: 0))
    private var uses: [Key: Use] = [:]
    private var sweepCount = smallCount

    /// - Parameters:
    ///   - capacity: The amount that may be used in a moment. Under lasting use, the rate is the capacity divided by `decay`.
    ///   - decay: The time in which use falls to 1/e.
    package init(capacity: Int, decay: Duration) {
        self.capacity = Double(capacity)
        self.decay = decay
    }

    /// Returns whether a key may use more now. The last use may exceed the capacity.
    package func allows(_ key: Key, at now: Timestamp) -> Bool {
        let free = capacity - total.amount(at: now, decay: decay)
        return (uses[key]?.amount(at: now, decay: decay) ?? 0) < Self.freeMultiple * free
    }

    /// Adds to a key's use, whether allowed or not.
    package mutating func use(_ count: Int, by key: Key, at now: Timestamp) {
        if uses.count >= sweepCount { sweep(at: now) }
        uses[key] = Use(amount: (uses[key]?.amount(at: now, decay: decay) ?? 0) + Double(count), time: now)
        total = Use(amount: total.amount(at: now, decay: decay) + Double(count), time: now)
    }

    /// Returns only the given keys' use, with the total for all keys.
    package func restricted(to keys: [Key]) -> Self {
        var restricted = self
        restricted.uses = [:]
        for key in keys { restricted.uses[key] = uses[key] }
        return restricted
    }

    private mutating func sweep(at now: Timestamp) {
        uses = uses.filter { $0.value.amount(at: now, decay: decay) >= Self.smallestUse }
        sweepCount = max(Self.smallCount, 2 * uses.count)
    }
}
