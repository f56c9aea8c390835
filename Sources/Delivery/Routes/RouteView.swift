/// What an operator sees of a route.
struct RouteView: Sendable, Equatable {
    /// Why gorush, Apple or Google takes no pushes.
    let deliveryIssues: [String]
    let storeIssue: String?
    /// Whether gorush was asked at all: before that, nobody knows.
    let hasProbed: Bool
    /// Whether gorush was asked, and its configuration allows posting.
    let mayPost: Bool
    /// Verdicts on devices are not believed.
    let isSurge: Bool
    /// What will lose pushes though all seems well.
    let warnings: [String]
    let isBreakerOpen: Bool
    /// Apple or Google refuses gorush.
    let refusesCredentials: Bool
    let notificationsInFlight: Int
    /// Requests that may be under way.
    let requestWindow: Int

    init(_ state: RouteState, at now: Duration) {
        deliveryIssues = state.healthIssues(at: now)
        storeIssue = state.storeIssue
        hasProbed = state.hasProbed
        mayPost = state.hasProbed && state.configurationFault == nil
        isSurge = state.isSurge(at: now)
        warnings = state.warnings(at: now)
        refusesCredentials = state.refusesCredentials(at: now)
        isBreakerOpen = state.breaker.state != .closed
        notificationsInFlight = state.notificationsInFlight
        requestWindow = state.window.count
    }

    /// Why pushes are not delivered; empty when they are.
    var healthIssues: [String] {
        let healthIssues = deliveryIssues + [storeIssue].compactMap { $0.map { "the outbox cannot be used: \($0)" } }
        return healthIssues.isEmpty && !hasProbed ? ["gorush has not answered yet"] : healthIssues
    }
}
