package import Envelope

/// Credits that are spent and come back one after another: a bucket for each key, all of one size.
///
/// A bucket is kept as the time at which it is full again, so that one that is full takes no memory. Times are steady ones.
package struct CreditBuckets<Key: Hashable & Sendable>: Sendable {
    /// Buckets kept at a time, some megabytes. Beyond, those that are full are forgotten, and then all: who has so many keys is not held by
    /// a limit for each.
    static var maximumCount: Int { 100_000 }
    /// Below it, nobody looks for those that are full.
    private static var smallCount: Int { 1_024 }

    /// What can be spent at once.
    package let capacity: Int
    /// Until one credit is back.
    package let interval: Duration

    private var fullAt: [Key: Timestamp] = [:]
    /// How many there may be before those that are full are looked for: twice as many as were left the last time.
    private var sweepCount = smallCount

    package init(capacity: Int, interval: Duration) {
        self.capacity = capacity
        self.interval = interval
    }

    /// Buckets that are not full, or were not when somebody looked.
    package var count: Int { fullAt.count }

    /// What can be spent now; negative while more is spent than there was.
    package func credits(of key: Key, at now: Timestamp) -> Int {
        guard let missing = missing(key, at: now) else { return capacity }
        let spent = (missing.nanoseconds + interval.wholeNanoseconds - 1) / interval.wholeNanoseconds
        return capacity - Int(clamping: spent)
    }

    /// Spends, whether there is as much or not: the rest is a debt, of one full bucket at most.
    package mutating func spend(_ count: Int = 1, of key: Key, at now: Timestamp) {
        guard count > 0 else { return }
        if fullAt.count >= sweepCount { sweep(at: now) }
        let full = max(fullAt[key] ?? now, now)
        let end = now.advanced(by: interval * (2 * capacity))
        fullAt[key] = min(full.advanced(by: interval * min(count, 2 * capacity)), end)
    }

    /// When the next credit is there: now, or later.
    package func nextCredit(of key: Key, at now: Timestamp) -> Timestamp {
        guard let full = fullAt[key] else { return now }
        return max(now, full.advanced(by: .zero - interval * (capacity - 1)))
    }

    /// The buckets of some keys alone.
    package func restricted(to keys: [Key]) -> Self {
        var restricted = Self(capacity: capacity, interval: interval)
        for key in keys { restricted.fullAt[key] = fullAt[key] }
        return restricted
    }

    private func missing(_ key: Key, at now: Timestamp) -> Timestamp? {
        guard let full = fullAt[key], full > now else { return nil }
        return Timestamp(nanoseconds: full.nanoseconds - now.nanoseconds)
    }

    private mutating func sweep(at now: Timestamp) {
        fullAt = fullAt.filter { $0.value > now }
        if fullAt.count >= Self.maximumCount { fullAt = [:] }
        sweepCount = max(Self.smallCount, 2 * fullAt.count)
    }
}

extension Duration {
    fileprivate var wholeNanoseconds: Int64 {
        let (seconds, attoseconds) = components
        return seconds * 1_000_000_000 + attoseconds / 1_000_000_000
    }
}
