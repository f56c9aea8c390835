/// Waits in proportion to how long something has been in trouble: what waited is late by at most a tenth of its trouble, and never by more
/// than ten minutes.
enum ProportionalBackOff {
    static let shortest = Duration.seconds(2)
    static let longest = Duration.seconds(600)
    private static let share = 10

    /// Returns the delay before the next attempt.
    ///
    /// - Parameters:
    ///   - age: How long the trouble has lasted.
    ///   - jitter: A random number from 0 to 1. The delay is three quarters of its bound, or more.
    static func delay(ofTroubleOf age: Duration, jitter: Double) -> Duration {
        max(shortest, min(longest, age / share)) * (0.75 + 0.25 * jitter)
    }
}
