/// A budget for what an outage would otherwise repeat without an end: so much a second, and two more for each delivery.
///
/// It slows the retries of an outage down without an estimate of its kind, and lets them double with each answer when it ends. Times are
/// monotonic and count from the delivery's start.
struct RetryBudget: Sendable {
    static let leastPerSecond = 2.0
    static let perDelivery = 2.0

    /// The part of gorush's workers that the budget grows by in a second, if that is more than the least.
    private let workerShare: Double
    private var balance = 1.0
    private var time = Duration.zero

    /// The budget for all attempts that are not a device's first: an eighth of the workers a second, so that a stranger's dead tokens leave
    /// enough for others.
    static let retries = RetryBudget(workerShare: 1.0 / 8)
    /// The budget for connections that are opened although others are idle.
    static let connections = RetryBudget(workerShare: 0)

    private init(workerShare: Double) { self.workerShare = workerShare }

    private func perSecond(_ workers: Int) -> Double { max(Self.leastPerSecond, Double(workers) * workerShare) }

    /// The number of attempts that the budget allows.
    ///
    /// - Parameter workers: gorush's, up to whose number attempts are saved.
    func available(at now: Duration, workers: Int) -> Double {
        min(Double(workers), balance + perSecond(workers) * ((now - time) / .seconds(1)))
    }

    mutating func spend(at now: Duration, workers: Int) {
        balance = available(at: now, workers: workers) - 1
        time = now
    }

    /// Gives back what an attempt has spent that was not made.
    mutating func giveBack(at now: Duration, workers: Int) {
        balance = min(Double(workers), available(at: now, workers: workers) + 1)
        time = now
    }

    mutating func delivered(at now: Duration, workers: Int) {
        balance = min(Double(workers), available(at: now, workers: workers) + Self.perDelivery)
        time = now
    }

    /// When the budget allows the next attempt.
    func next(at now: Duration, workers: Int) -> Duration {
        now + .seconds(max(0, 1 - available(at: now, workers: workers)) / perSecond(workers))
    }
}
