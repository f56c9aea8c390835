package import Envelope
import Foundation

/// One budget that keys share: what is used of it decays evenly, and a key that uses more than others has to wait for them.
///
/// A key may use more while it has used less than four times what is free (the dynamic threshold of shared buffers). So a single key gets
/// four fifths of the budget, several keys get equal shares, and a part stays free for a key that has used nothing. Times are monotonic.
package struct FairShares<Key: Hashable & Sendable>: Sendable {
    /// The number of keys after which those with little use are forgotten.
    static var smallCount: Int { 1_024 }
    /// Use of less than a byte is none.
    private static var smallestUse: Double { 1 }
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
    ///   - capacity: The amount that may be used at once. Capacity divided by decay may be used lastingly.
    ///   - decay: The time in which use falls to 1/e.
    package init(capacity: Int, decay: Duration) {
        self.capacity = Double(capacity)
        self.decay = decay
    }

    /// Whether a key may use more now. The last use may exceed the capacity.
    package func allows(_ key: Key, at now: Timestamp) -> Bool {
        let free = capacity - total.amount(at: now, decay: decay)
        return (uses[key]?.amount(at: now, decay: decay) ?? 0) < Self.freeMultiple * free
    }

    package mutating func use(_ count: Int, by key: Key, at now: Timestamp) {
        if uses.count >= sweepCount { sweep(at: now) }
        uses[key] = Use(amount: (uses[key]?.amount(at: now, decay: decay) ?? 0) + Double(count), time: now)
        total = Use(amount: total.amount(at: now, decay: decay) + Double(count), time: now)
    }

    /// The use of some keys alone, with the total of all.
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
