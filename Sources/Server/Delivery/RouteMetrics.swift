import CoreMetrics
import Envelope
package import MetricDeclarations
import Store

/// A route's metrics. All labels come from fixed sets, none from a peer or gorush.
package struct RouteMetrics: Sendable {
    private let pushes: [PushOutcome: Counter]
    private let retries: [RetryCause: Counter]
    private let failures: [PushFailure: Counter]
    private let deadRegistrations: Counter?
    private let pushSeconds: CoreMetrics.Timer?
    private let requests: [GorushResult: Counter]
    private let requestSeconds: CoreMetrics.Timer
    private let breaker: Meter
    private let inFlight: Meter
    private let workers: Meter
    private let failing: Meter
    private let credentials: Meter
    private let held: Meter
    private let missedDevices: Counter

    init(route: String, platform: GorushPlatform) {
        let finished = Self.pushes.counters(by: FinishedPush.self, route, platform.label.rawValue)
        pushes = Dictionary(uniqueKeysWithValues: finished.map { ($0.outcome, $1) })
        retries = Self.retries.counters(by: RetryCause.self, route)
        failures = Self.failures.counters(by: PushFailure.self, route)
        deadRegistrations = Self.deadRegistrations.counters(by: Platform.self)[platform.label]
        pushSeconds = Self.pushSeconds.timers(by: Platform.self)[platform.label]
        requests = Self.requests.counters(by: GorushResult.self, route)
        requestSeconds = Self.requestSeconds.timer(route)
        breaker = Self.breaker.gauge(route)
        inFlight = Self.inFlight.gauge(route)
        workers = Self.workers.gauge(route)
        failing = Self.failing.gauge(route)
        credentials = Self.credentials.gauge(route)
        held = Self.held.gauge(route)
        missedDevices = Self.missedDevices.counter(route)
    }

    /// Counts devices with waiting pushes that only a reading of all has found.
    func missed(_ count: Int) { missedDevices.increment(by: count) }

    func answered(_ answer: GorushResponse, after duration: Duration) {
        requests[GorushResult(answer)]?.increment()
        requestSeconds.record(duration)
    }

    /// Counts a plan's pushes that finish without an attempt.
    func count(_ plan: DeliveryPlan) {
        finished(.expired, .expired, by: plan.expired.count)
        finished(.withdrawn, .unregistered, by: plan.withdrawn.count)
        finished(.refused, .unsendable, by: plan.unsendable.count)
    }

    /// Counts the decisions about attempts.
    ///
    /// - Parameter now: The time at which they are recorded.
    func count(_ decisions: some Sequence<(PushAttempt, PushDecision)>, at now: Timestamp) {
        for (attempt, decision) in decisions {
            if case .finish(.sent) = decision.disposition { pushSeconds?.record(attempt.push.acceptedAt.duration(to: now)) }
            if let reason = decision.reason { failures[PushFailure(reason)]?.increment() }
            switch decision.disposition {
            case .finish(let outcome): pushes[outcome]?.increment()
            case .retry(_, let isUnknown): retries[isUnknown ? .uncertain : .failed]?.increment()
            case .release: retries[.notSent]?.increment()
            }
        }
    }

    /// Counts pushes that finish without an attempt.
    func finished(_ outcome: PushOutcome, _ reason: PushFailure, by count: Int) {
        pushes[outcome]?.increment(by: count)
        failures[reason]?.increment(by: count)
    }

    /// Counts registrations that ended with their device tokens.
    func unregistered(_ count: Int) { deadRegistrations?.increment(by: count) }

    func set(_ report: RouteReport) {
        breaker.set(report.isBreakerOpen ? 1 : 0)
        inFlight.set(report.notificationsInFlight)
        workers.set(report.workerCount)
        failing.set(report.isFailing ? 1 : 0)
        credentials.set(report.refusesCredentials ? 1 : 0)
        held.set(report.holdTime == nil ? 0 : 1)
    }
}

extension RouteMetrics {
    package static let declarations = [
        pushes, pushSeconds, retries, failures, deadRegistrations, requests, requestSeconds, breaker, inFlight, workers, failing,
        credentials, held, missedDevices,
    ]

    private static let pushes = Metric(
        .counter, "pushserver_pushes_total", by: FinishedPush.self, configuredLabels: ["route", "platform"],
        help: "Finished pushes, by outcome.")
    private static let pushSeconds = Metric(
        .histogram(bounds: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 30, 60, 300, 900, 3_600]), "pushserver_push_seconds",
        by: Platform.self, help: "Time from the acceptance of a push to its success in gorush.")
    private static let retries = Metric(
        .counter, "pushserver_push_retries_total", by: RetryCause.self, configuredLabels: ["route"],
        help: "Pushes that get a further attempt, by the result of the last one; not_sent does not count as an attempt.")
    private static let failures = Metric(
        .counter, "pushserver_push_failures_total", by: PushFailure.self, configuredLabels: ["route"],
        help: "Failed attempts and pushes that finished without one, by reason.")
    private static let deadRegistrations = Metric(
        .counter, "pushserver_dead_registrations_total", by: Platform.self,
        help: "Registrations that the server removed because their device token is dead.")
    private static let requests = Metric(
        .counter, "pushserver_gorush_requests_total", by: GorushResult.self, configuredLabels: ["route"],
        help: "Requests with pushes to gorush, by its response.")
    private static let requestSeconds = Metric(
        .histogram(bounds: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60]), "pushserver_gorush_request_seconds",
        configuredLabels: ["route"], help: "Duration of a request with pushes to gorush.")
    private static let breaker = Metric(
        .gauge, "pushserver_route_breaker_open", configuredLabels: ["route"], help: "Whether the breaker of the route is open.")
    private static let inFlight = Metric(
        .gauge, "pushserver_route_notifications_in_flight", configuredLabels: ["route"],
        help: "Notifications that wait for gorush's response.")
    private static let workers = Metric(
        .gauge, "pushserver_route_workers", configuredLabels: ["route"], help: "Workers of gorush that the route may use.")
    private static let missedDevices = Metric(
        .counter, "pushserver_route_missed_devices_total", configuredLabels: ["route"],
        help: "Devices with waiting pushes that only the reading of all, each ten minutes, has found.")
    private static let failing = Metric(
        .gauge, "pushserver_route_failing", configuredLabels: ["route"],
        help: "Whether Apple or Google delivers nothing through the route.")
    private static let credentials = Metric(
        .gauge, "pushserver_route_credentials_rejected", configuredLabels: ["route"],
        help: "Whether Apple or Google rejects gorush itself.")
    private static let held = Metric(
        .gauge, "pushserver_route_held", configuredLabels: ["route"],
        help: "Whether an operator holds the route, so that its pushes wait.")
}
