/// How long to wait after failures (71/STATUS-PUSH-NOTIFICATION-SERVER: "the client MUST backoff exponentially").
enum BackOff {
    /// After the first failure, an answer having been waited for already.
    static let first = Duration.seconds(2)
    /// A server that was away for hours is found again within one.
    static let maximum = Duration.seconds(60 * 60)
    /// Failures in a row after which nothing more is tried: some nine hours.
    static let maximumFailureCount = 20

    /// Doubles with each failure. Between half of that and all of it, at random: clients that lost the same server do not come back as one.
    static func delay(failureCount: Int, using random: inout some RandomNumberGenerator) -> Duration {
        let doublings = min(max(failureCount - 1, 0), 11)
        let full = min(first * (1 << doublings), maximum)
        return full / 2 + full * Double.random(in: 0...0.5, using: &random)
    }
}
