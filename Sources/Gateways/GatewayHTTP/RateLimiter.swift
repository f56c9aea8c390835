package import HTTPClient

/// So many requests for each address: a bucket that fills at a steady rate. Times are those of a monotonic clock, from its start.
package struct RateLimiter: Sendable {
    /// Addresses kept at a time. Beyond, those whose buckets are full are forgotten, and then all: a stranger with so many addresses is not
    /// held by a limit for each.
    static let maximumAddressCount = 50_000

    private struct Bucket {
        /// What was taken and has not come back at `updatedAt`.
        var taken: Double
        var updatedAt: Duration
    }

    /// nil: no limit.
    private let perSecond: Double?
    private let capacity: Double
    private var buckets: [IPAddress: Bucket] = [:]

    /// - Parameter count: in `interval`, and at once; 0: no limit.
    package init(_ count: Int, every interval: Duration) {
        perSecond = count == 0 ? nil : Double(count) / (interval / .seconds(1))
        capacity = Double(count)
    }

    /// Takes one for an address.
    ///
    /// - Returns: nil if it may, else when it may again.
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

    /// Takes what was used, however much.
    package mutating func charge(_ count: Int, to client: IPAddress, at now: Duration) {
        guard perSecond != nil, count > 0 else { return }
        if buckets.count >= Self.maximumAddressCount { forget(at: now) }
        // Not deeper than one whole interval: a debt ends.
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
