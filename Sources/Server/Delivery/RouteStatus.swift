/// A route's status, for operators.
struct RouteStatus: Sendable, Equatable {
    /// The reasons why gorush, Apple or Google accepts no pushes.
    let conditions: [RouteCondition]
    let storeIssue: String?
    /// Whether a probe has ended. Before that the state of gorush is unknown.
    let hasProbed: Bool
    /// Whether a probe has ended, and gorush's configuration allows posting.
    let mayPost: Bool
    /// The conditions that may lose or delay pushes.
    let warningConditions: [RouteCondition]
    let isBreakerOpen: Bool
    /// Whether Apple or Google delivers nothing.
    let isFailing: Bool
    /// Whether Apple or Google rejects gorush itself.
    let refusesCredentials: Bool
    let deliveryCount: Int
    let notificationsInFlight: Int
    /// The number of gorush's workers that the route may use.
    let workerCount: Int

    init(_ state: RouteState, at now: Duration) {
        conditions = state.gorushIssues(at: now) + state.providerIssues(at: now)
        storeIssue = state.storeIssue
        hasProbed = state.profile.wasProbed
        mayPost = state.profile.wasProbed && state.profile.isUsable
        warningConditions = state.warnings(at: now)
        isFailing = state.belief.fails(at: now)
        refusesCredentials = state.belief.rejectsCredentials(at: now)
        isBreakerOpen = state.turns.breaker.pausedSince != nil
        deliveryCount = state.belief.deliveryCount
        notificationsInFlight = state.turns.inFlight.count
        workerCount = state.turns.bulkhead.workerCount
    }

    var warnings: [String] { warningConditions.map(\.text) }

    /// The reasons why pushes are not delivered, or empty when they are.
    var healthIssues: [String] {
        let healthIssues = conditions.map(\.text) + [storeIssue].compactMap { $0.map { "the outbox cannot be used: \($0)" } }
        return healthIssues.isEmpty && !hasProbed ? ["gorush has not responded yet"] : healthIssues
    }
}
