/// What a route tells operators: in its log and metrics, in readiness and on the status page.
package struct RouteReport: Sendable, Equatable {
    /// A reason why pushes are not delivered, by the part that causes it.
    package enum Issue: Sendable, Equatable {
        /// gorush cannot be reached, cannot be used, or has not answered its first probe.
        case gorush(String)
        /// Apple or Google refuses gorush or a bundle id, or delivers nothing.
        case provider(String)
        /// The route cannot read or write the outbox.
        case outbox(String)

        var reason: String {
            switch self {
            case .gorush(let reason), .provider(let reason), .outbox(let reason): reason
            }
        }
    }

    package let name: String
    /// `ios` or `android`.
    package let platform: String
    /// The URL of the route's gorush without user name and password.
    package let gorushURL: String
    /// The reasons why pushes are not delivered, or empty when they are.
    package let issues: [Issue]
    /// The reasons why gorush, Apple or Google accepts no pushes.
    let conditions: [RouteCondition]
    /// The conditions that may lose or delay pushes.
    let warningConditions: [RouteCondition]
    /// Whether an operator holds the route, or a hold has ended early.
    let holdCondition: RouteCondition?
    /// The time until the end of the operator's hold, or nil if there is none.
    package let holdTime: Duration?
    let storeIssue: String?
    /// Whether a probe has ended, and gorush's configuration allows posting.
    let mayPost: Bool
    package let isBreakerOpen: Bool
    /// Whether Apple or Google delivers nothing.
    let isFailing: Bool
    /// Whether Apple or Google rejects gorush itself.
    let refusesCredentials: Bool
    let notificationsInFlight: Int
    /// The number of gorush's workers that the route may use.
    let workerCount: Int
    /// The number of delivered pushes since the start.
    package let deliveryCount: Int
    /// The number of failed attempts since the start.
    package let failureCount: Int
    /// The number of devices that only the reading of all has found, although pushes waited for them.
    let missedDeviceCount: Int
    /// The time since the newest delivery, or nil if the route has not delivered since the start.
    package let lastDeliveryAge: Duration?

    init(_ state: RouteState, gorushURL: String, at now: Duration) {
        name = state.route.name
        platform = state.route.platform == .ios ? "ios" : "android"
        self.gorushURL = gorushURL
        let (gorush, provider) = (state.gorushIssues(at: now), state.providerIssues(at: now))
        conditions = gorush + provider
        warningConditions = state.warnings(at: now)
        holdCondition = state.holdCondition(at: now)
        holdTime = state.hold.end(at: now).map { $0 - now }
        storeIssue = state.storeIssue
        let issues =
            gorush.map { Issue.gorush($0.text) } + provider.map { .provider($0.text) }
            + [storeIssue].compactMap { $0.map { .outbox("the outbox cannot be used: \($0)") } }
        // Before the first probe has ended, the state of gorush is unknown.
        self.issues = issues.isEmpty && !state.profile.wasProbed ? [.gorush("gorush has not responded yet")] : issues
        mayPost = state.profile.wasProbed && state.profile.isUsable
        isBreakerOpen = state.turns.breaker.pausedSince != nil
        isFailing = state.belief.fails(at: now)
        refusesCredentials = state.belief.rejectsCredentials(at: now)
        notificationsInFlight = state.turns.inFlight.count
        workerCount = state.turns.bulkhead.workerCount
        deliveryCount = state.belief.deliveryCount
        failureCount = state.belief.failureCount
        missedDeviceCount = state.turns.devices.missedCount
        lastDeliveryAge = state.belief.lastDeliveryTime.map { now - $0 }
    }

    package var warnings: [String] { warningConditions.map(\.text) }

    /// Whether gorush, Apple and Google take pushes, although the outbox may not be readable.
    package var isDelivering: Bool {
        issues.allSatisfy { issue in if case .outbox = issue { true } else { false } }
    }

    /// Returns an issue in words for an operator, with the routes that have it and their gorush.
    package static func text(_ issue: Issue, of routes: [RouteReport]) -> String {
        let url = routes.first.map { " (\($0.gorushURL))" } ?? ""
        return "delivery \(routes.map(\.name).joined(separator: ", ")): \(issue.reason)\(url)"
    }

    /// Returns a warning in words for an operator, with the route.
    package func text(_ warning: String) -> String { "delivery \(name): \(warning)" }
}
