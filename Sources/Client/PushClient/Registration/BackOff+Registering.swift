import Tasks

/// The delays after failures (71/STATUS-PUSH-NOTIFICATION-SERVER: "the client MUST backoff exponentially").
extension BackOff {
    /// Starts at 2 s, because the client has already waited for a reply, and grows to an hour, so a server that works again is found within
    /// that time. Jitter keeps a failed server's clients from returning in the same moment.
    static let registering = BackOff(first: .seconds(2), longest: .seconds(60 * 60), minimumShare: 0.5)
    /// The number of consecutive failures after which retries stop: about nine hours.
    static let maximumFailureCount = 20

    func delay(afterFailures count: Int, using random: inout some RandomNumberGenerator) -> Duration {
        delay(afterFailures: count, jitter: .random(in: 0...1, using: &random))
    }
}
