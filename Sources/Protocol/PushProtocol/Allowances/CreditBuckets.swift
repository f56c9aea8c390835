package import Envelope

/// Rate-limit buckets for keys, with equal capacity and refill interval.
///
/// Each bucket is stored as the monotonic time at which it is full again, so a full bucket does not take memory.
package struct CreditBuckets<Key: Hashable & Sendable>: Sendable {
    /// The maximum number of stored buckets, some megabytes. Beyond it, full buckets are dropped first and then all: a client with that
    /// many keys is not stopped by a limit per key.
    static var maximumCount: Int { 100_000 }
    /// The number of stored buckets below which no sweep takes place.
    private static var smallCount: Int { 1_024 }

    /// How many credits a full bucket has.
    package let capacity: Int
    /// The time until a credit returns.
    package let interval: Duration
    /// How many credits a bucket may owe.
    private let maximumDebt: Int

    private var fullAt: [Key: Timestamp] = [:]
    /// The number of buckets at which the next sweep takes place: twice as many as the last left.
    private var sweepCount = smallCount

    /// - Parameter maximumDebt: How many credits a bucket may owe. Nil means a full bucket.
    package init(capacity: Int, interval: Duration, maximumDebt: Int? = nil) {
        self.capacity = capacity
        self.interval = interval
        self.maximumDebt = maximumDebt ?? capacity
    }

    /// The number of stored buckets. Some may have become full since the last sweep.
    package var count: Int { fullAt.count }

    /// Returns the available credits. Negative while the bucket is in debt.
    package func credits(of key: Key, at now: Timestamp) -> Int {
        guard let missing = missing(key, at: now) else { return capacity }
        let spent = (missing.nanoseconds + interval.wholeNanoseconds - 1) / interval.wholeNanoseconds
        return capacity - Int(clamping: spent)
    }

    /// Spends credits, available or not.
    package mutating func spend(_ count: Int = 1, of key: Key, at now: Timestamp) {
        guard count > 0 else { return }
        if fullAt.count >= sweepCount { sweep(at: now) }
        let full = max(fullAt[key] ?? now, now)
        let most = capacity + maximumDebt
        fullAt[key] = min(full.advanced(by: interval * min(count, most)), now.advanced(by: interval * most))
    }

    /// Returns when the next credit is available: now or later.
    package func nextCredit(of key: Key, at now: Timestamp) -> Timestamp { availability(of: 1, key: key, at: now) }

    /// Returns the time from which the bucket has a number of credits: now or later. For 0 it is when a debt ends.
    package func availability(of count: Int, key: Key, at now: Timestamp) -> Timestamp {
        max(now, max(fullAt[key] ?? now, now).advanced(by: interval * (count - capacity)))
    }

    /// Returns only the buckets of the given keys.
    package func restricted(to keys: [Key]) -> Self {
        var restricted = Self(capacity: capacity, interval: interval, maximumDebt: maximumDebt)
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
