/// The status of a route, for operators.
struct RouteStatus: Sendable, Equatable {
    /// The reasons why gorush, Apple or Google accepts no pushes.
    let deliveryIssues: [String]
    /// Why Apple or Google delivers nothing, which is also one of the issues; nil if the route works.
    let failure: String?
    let storeIssue: String?
    /// Whether a probe has ended. Before that the state of gorush is unknown.
    let hasProbed: Bool
    /// Whether a probe has ended, and gorush's configuration allows posting.
    let mayPost: Bool
    /// The conditions that may lose or delay pushes.
    let warnings: [String]
    let isBreakerOpen: Bool
    /// Whether Apple or Google rejects gorush itself.
    let refusesCredentials: Bool
    let notificationsInFlight: Int
    /// The number of requests that may be in flight.
    let requestWindow: Int

    init(_ state: RouteState, at now: Duration) {
        deliveryIssues = state.healthIssues(at: now)
        failure = state.evidence.issue(at: now)
        storeIssue = state.storeIssue
        hasProbed = state.profile.wasAsked
        mayPost = state.profile.wasAsked && state.profile.configurationFault == nil
        warnings = state.warnings(at: now)
        refusesCredentials = state.evidence.refusesGorush(at: now)
        isBreakerOpen = state.breaker.state != .closed
        notificationsInFlight = state.concurrency.notificationsInFlight
        requestWindow = state.concurrency.window
    }

    /// The reasons why pushes are not delivered; empty when they are.
    var healthIssues: [String] {
        let healthIssues = deliveryIssues + [storeIssue].compactMap { $0.map { "the outbox cannot be used: \($0)" } }
        return healthIssues.isEmpty && !hasProbed ? ["gorush has not responded yet"] : healthIssues
    }
}
