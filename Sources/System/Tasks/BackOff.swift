/// Exponential delays with jitter, so that clients do not return in step after an outage
/// (https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/).
package struct BackOff: Sendable, Equatable {
    /// The upper bound of the first delay.
    package var first: Duration
    /// The upper bound of every delay.
    package var longest: Duration
    /// The smallest fraction of its bound that a delay may have: 0 for full jitter, 1 for no jitter, if no other client could be in step.
    package var minimumShare: Double

    package init(first: Duration, longest: Duration, minimumShare: Double = 0) {
        self.first = first
        self.longest = longest
        self.minimumShare = minimumShare
    }

    /// Returns the upper bound of the delay after a number of consecutive failures, at least one.
    package func bound(afterFailures count: Int) -> Duration {
        // 2^16 times the first delay is beyond every `longest`.
        min(first * (1 << min(max(count, 1) - 1, 16)), longest)
    }

    /// Returns the delay after a number of consecutive failures, at least one.
    ///
    /// - Parameter jitter: A random number from 0 to 1.
    package func delay(afterFailures count: Int, jitter: Double) -> Duration {
        bound(afterFailures: count) * (minimumShare + (1 - minimumShare) * jitter)
    }
}
