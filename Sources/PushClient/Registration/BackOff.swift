import Concurrency

/// How long to wait after failures (71/STATUS-PUSH-NOTIFICATION-SERVER: "the client MUST backoff exponentially").
extension BackOff {
    /// At first 2 seconds, an answer having been waited for already; a server that was away for hours is found again within one. By chance,
    /// so that clients that lost the same server do not come back as one.
    static let registering = BackOff(first: .seconds(2), longest: .seconds(60 * 60), minimumShare: 0.5)
    /// Failures in a row after which nothing more is tried: some nine hours.
    static let maximumFailureCount = 20

    func delay(afterFailures count: Int, using random: inout some RandomNumberGenerator) -> Duration {
        delay(afterFailures: count, jitter: .random(in: 0...1, using: &random))
    }
}
