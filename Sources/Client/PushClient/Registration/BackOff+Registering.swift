import Tasks

/// The delays after failures (71/STATUS-PUSH-NOTIFICATION-SERVER: "the client MUST backoff exponentially"). Nothing that may pass ends the
/// retries.
extension BackOff {
    /// For a server that is silent or in trouble. Starts at 2 s, because the client has already waited for a reply, and grows to a day:
    /// a server that has been away for long has it again a day after its return. Jitter keeps its clients from returning in the same
    /// moment.
    static let server = BackOff(first: .seconds(2), longest: .seconds(24 * 60 * 60), minimumShare: 0.5)
    /// For a node that cannot be reached, which is the phone's own network: an attempt costs nobody else anything.
    static let node = BackOff(first: .seconds(2), longest: .seconds(30 * 60), minimumShare: 0.5)

    func delay(afterFailures count: Int, using random: inout some RandomNumberGenerator) -> Duration {
        delay(afterFailures: count, jitter: .random(in: 0...1, using: &random))
    }
}
