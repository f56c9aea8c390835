/// Exponential delays with full jitter: after an outage nobody comes back in step with the others
/// (https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/).
struct BackOff: Sendable, Equatable {
    /// The longest that the first delay can be.
    var first: Duration
    /// The longest that any can be.
    var longest: Duration

    /// Of a push that failed, or may have.
    static let push = BackOff(first: .seconds(2), longest: .seconds(300))
    /// Of a push that waits for somebody to put something right, or for a device that is told of too often.
    static let patient = BackOff(first: .seconds(60), longest: .seconds(600))
    /// Of a route. Short: gorush's return is to be noticed within 5 seconds, and an attempt that finds nobody costs little.
    static let route = BackOff(first: .milliseconds(500), longest: .seconds(4))

    /// A delay that is longer was not made by these.
    static let longestOfAll = patient.longest

    /// The upper bound of the delay after so many failures in a row, at least one.
    func bound(afterFailures count: Int) -> Duration {
        // 2^16 times the first delay is beyond every `longest`.
        min(first * (1 << min(max(count, 1) - 1, 16)), longest)
    }

    /// Any delay up to the bound, with equal chances.
    func delay(afterFailures count: Int, using random: inout some RandomNumberGenerator) -> Duration {
        bound(afterFailures: count) * Double.random(in: 0...1, using: &random)
    }
}
