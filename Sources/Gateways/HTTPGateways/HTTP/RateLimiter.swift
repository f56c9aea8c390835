import Envelope
package import HTTPClient
import PushProtocol

/// A rate limit for each address, as credits that return singly. Times are monotonic and count from the clock's start.
package struct RateLimiter: Sendable {
    /// Nil means no limit.
    private var buckets: CreditBuckets<IPAddress>?

    /// - Parameter count: The capacity, and the number of credits that return in `interval`. 0 means no limit.
    package init(_ count: Int, every interval: Duration) {
        buckets = count == 0 ? nil : CreditBuckets(capacity: count, interval: interval / count)
    }

    /// Takes credits from an address.
    ///
    /// - Returns: nil if there were enough, or the delay after which there are, in whole seconds.
    package mutating func take(_ count: Int = 1, for client: IPAddress, at now: Duration) -> Duration? {
        guard let time = buckets?.availability(of: count, key: client.limited, at: Timestamp(now)) else { return nil }
        guard time <= Timestamp(now) else {
            return .seconds(Int64((Timestamp(now).duration(to: time) / .seconds(1)).rounded(.up)))
        }
        buckets?.spend(count, of: client.limited, at: Timestamp(now))
        return nil
    }

    /// Takes credits that have been used already, even if the bucket has fewer. The debt ends after an interval at most.
    package mutating func charge(_ count: Int, to client: IPAddress, at now: Duration) {
        buckets?.spend(count, of: client.limited, at: Timestamp(now))
    }
}

extension Timestamp {
    fileprivate init(_ elapsed: Duration) {
        self = Timestamp(nanoseconds: 0).advanced(by: elapsed)
    }
}
