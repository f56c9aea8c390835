/// A budget for all attempts that are not a device's first: two a second, and two more for each delivery. New connections have one too.
///
/// It slows the retries of an outage down without an estimate of its kind, and lets them double with each answer when it ends. Times are
/// monotonic and count from the delivery's start.
struct RetryBudget: Sendable {
    static let perSecond = 2.0
    static let perDelivery = 2.0

    private var balance = 1.0
    private var time = Duration.zero

    /// The number of attempts that the budget allows.
    ///
    /// - Parameter limit: The number up to which attempts are saved: gorush's workers.
    func available(at now: Duration, limit: Int) -> Double { min(Double(limit), balance + Self.perSecond * ((now - time) / .seconds(1))) }

    mutating func spend(at now: Duration, limit: Int) {
        balance = available(at: now, limit: limit) - 1
        time = now
    }

    mutating func delivered(at now: Duration, limit: Int) {
        balance = min(Double(limit), available(at: now, limit: limit) + Self.perDelivery)
        time = now
    }

    /// When the budget allows the next attempt.
    func next(at now: Duration, limit: Int) -> Duration {
        now + .seconds(max(0, 1 - available(at: now, limit: limit)) / Self.perSecond)
    }
}
