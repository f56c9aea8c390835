package import HTTPClient

/// A rate limit for each address: a bucket of credits that refills at a steady rate. Times are those of a monotonic clock, from its start.
package struct RateLimiter: Sendable {
    /// The maximum number of addresses kept. Beyond it, the limiter forgets full buckets, and then all: a client with so many addresses
    /// is not held by a limit for each.
    static let maximumAddressCount = 50_000

    private struct Bucket {
        /// The credits that were missing from the full bucket at `updatedAt`.
        var taken: Double
        var updatedAt: Duration
    }

    /// The refill rate. nil means no limit.
    private let perSecond: Double?
    private let capacity: Double
    private var buckets: [IPAddress: Bucket] = [:]

    /// - Parameter count: The capacity, and the number of credits that return in `interval`. 0 means no limit.
    package init(_ count: Int, every interval: Duration) {
        perSecond = count == 0 ? nil : Double(count) / (interval / .seconds(1))
        capacity = Double(count)
    }

    /// Takes credits of an address.
    ///
    /// - Returns: nil if there were enough, or the delay after which there are.
    package mutating func take(_ count: Int = 1, for client: IPAddress, at now: Duration) -> Duration? {
        guard let perSecond else { return nil }
        let taken = taken(client, at: now)
        guard taken + Double(count) <= capacity else {
            return .seconds(Int64(((taken + Double(count) - capacity) / perSecond).rounded(.up)))
        }
        if buckets.count >= Self.maximumAddressCount { forget(at: now) }
        buckets[client.limited] = Bucket(taken: taken + Double(count), updatedAt: now)
        return nil
    }

    /// Takes credits that have been used already, even if the bucket has fewer.
    package mutating func charge(_ count: Int, to client: IPAddress, at now: Duration) {
        guard perSecond != nil, count > 0 else { return }
        if buckets.count >= Self.maximumAddressCount { forget(at: now) }
        // The debt is at most one capacity, so it ends after an interval.
        buckets[client.limited] = Bucket(taken: min(taken(client, at: now) + Double(count), 2 * capacity), updatedAt: now)
    }

    private func taken(_ client: IPAddress, at now: Duration) -> Double {
        guard let perSecond, let bucket = buckets[client.limited] else { return 0 }
        return max(0, bucket.taken - (now - bucket.updatedAt) / .seconds(1) * perSecond)
    }

    private mutating func forget(at now: Duration) {
        guard let perSecond else { return }
        buckets = buckets.filter { $0.value.taken - (now - $0.value.updatedAt) / .seconds(1) * perSecond > 0 }
        if buckets.count >= Self.maximumAddressCount { buckets = [:] }
    }
}
