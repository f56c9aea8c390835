import CoreMetrics
import Store

/// The metrics of a route. All labels come from fixed sets, none from a peer or gorush.
struct RouteMetrics: Sendable {
    private let route: String
    private let sent: Counter
    /// Counters of responses, by label.
    private let answers: [String: Counter]
    private let breaker: Meter
    private let inFlight: Meter
    private let window: Meter
    private let queued: Meter
    private let failing: Meter
    private let credentials: Meter

    init(route: String) {
        self.route = route
        sent = Self.finished(.sent, reason: nil, route: route)
        let dimensions = [("route", route)]
        answers = Dictionary(
            uniqueKeysWithValues: GorushResponse.labels.map {
                ($0, Counter(label: "pushserver_gorush_answers_total", dimensions: dimensions + [("answer", $0)]))
            })
        breaker = Meter(label: "pushserver_route_breaker_open", dimensions: dimensions)
        inFlight = Meter(label: "pushserver_route_notifications_in_flight", dimensions: dimensions)
        window = Meter(label: "pushserver_route_request_window", dimensions: dimensions)
        queued = Meter(label: "pushserver_route_pushes_queued", dimensions: dimensions)
        failing = Meter(label: "pushserver_route_failing", dimensions: dimensions)
        credentials = Meter(label: "pushserver_route_credentials_refused", dimensions: dimensions)
    }

    func answered(_ answer: GorushResponse) {
        answers[answer.label]?.increment()
    }

    /// Counts the pushes of a plan that finish without an attempt.
    func count(_ plan: DeliveryPlan) {
        finished(.expired, reason: "lifetime", by: plan.expired.count)
        finished(.withdrawn, reason: "unregistered", by: plan.withdrawn.count)
        for (_, obstacle) in plan.unsendable { finished(.refused, reason: obstacle.rawValue) }
    }

    func count(_ decisions: [PushDecision]) {
        for decision in decisions {
            switch decision.disposition {
            case .finish(.sent): sent.increment()
            case .finish(let outcome): finished(outcome, reason: decision.reason)
            case .retry(_, let isUnknown): retried(isUnknown ? "unknown" : "failed", reason: decision.reason)
            case .releaseLease: retried("not sent", reason: decision.reason)
            }
        }
    }

    func finished(_ outcome: PushOutcome, reason: String?, by amount: Int = 1) {
        guard amount > 0 else { return }
        Self.finished(outcome, reason: reason, route: route).increment(by: amount)
    }

    func set(_ view: RouteStatus, queuedCount: Int) {
        breaker.set(view.isBreakerOpen ? 1 : 0)
        inFlight.set(view.notificationsInFlight)
        window.set(view.requestWindow)
        queued.set(queuedCount)
        failing.set(view.failure == nil ? 0 : 1)
        credentials.set(view.refusesCredentials ? 1 : 0)
    }

    private func retried(_ attempt: String, reason: String?) {
        Counter(
            label: "pushserver_push_retries_total", dimensions: [("route", route), ("attempt", attempt), ("reason", reason ?? "")]
        ).increment()
    }

    private static func finished(_ outcome: PushOutcome, reason: String?, route: String) -> Counter {
        Counter(
            label: "pushserver_pushes_finished_total",
            dimensions: [("route", route), ("outcome", "\(outcome)"), ("reason", reason ?? "")])
    }
}

extension GorushResponse {
    fileprivate static let labels = [
        "accepted", "short", "over_limit", "refused", "too_large", "misconfigured", "wants_tls", "unavailable", "timed_out", "unknown",
    ]

    fileprivate var label: String {
        switch self {
        case .accepted: "accepted"
        case .short: "short"
        case .overLimit: "over_limit"
        case .refused: "refused"
        case .tooLarge: "too_large"
        case .misconfigured: "misconfigured"
        case .wantsTLS: "wants_tls"
        case .unavailable: "unavailable"
        case .timedOut: "timed_out"
        case .unknown: "unknown"
        }
    }
}
