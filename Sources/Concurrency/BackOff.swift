/// Exponential delays with jitter: after an outage nobody comes back in step with the others
/// (https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/).
package struct BackOff: Sendable, Equatable {
    /// The longest that the first delay can be.
    package var first: Duration
    /// The longest that any can be.
    package var longest: Duration
    /// The least that a delay is of its bound: 0 for full jitter, 1 for none, where nobody else is there to keep out of step with.
    package var minimumShare: Double

    package init(first: Duration, longest: Duration, minimumShare: Double = 0) {
        self.first = first
        self.longest = longest
        self.minimumShare = minimumShare
    }

    /// The upper bound of the delay after so many failures in a row, at least one.
    package func bound(afterFailures count: Int) -> Duration {
        // 2^16 times the first delay is beyond every `longest`.
        min(first * (1 << min(max(count, 1) - 1, 16)), longest)
    }

    /// The delay after so many failures in a row, at least one.
    ///
    /// - Parameter jitter: by chance, from 0 to 1.
    package func delay(afterFailures count: Int, jitter: Double) -> Duration {
        bound(afterFailures: count) * (minimumShare + (1 - minimumShare) * jitter)
    }
}
