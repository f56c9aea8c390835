/// A route's state for the status page.
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
    /// The conditions that may lose or delay pushes.
    package let warnings: [String]
    package let isBreakerOpen: Bool
    /// The number of delivered pushes since the start.
    package let deliveryCount: Int
    /// The number of failed attempts since the start.
    package let failureCount: Int
    /// The time since the newest delivery, or nil if the route has not delivered since the start.
    package let lastDeliveryAge: Duration?

    init(_ state: RouteState, name: String, platform: GorushPlatform, gorushURL: String, at now: Duration) {
        let status = RouteStatus(state, at: now)
        self.name = name
        self.platform = platform == .ios ? "ios" : "android"
        self.gorushURL = gorushURL
        let issues =
            state.gorushIssues(at: now).map { Issue.gorush($0.text) } + state.providerIssues(at: now).map { Issue.provider($0.text) }
            + [status.storeIssue].compactMap { $0.map { .outbox("the outbox cannot be used: \($0)") } }
        self.issues = issues.isEmpty ? status.healthIssues.map(Issue.gorush) : issues
        warnings = status.warnings
        isBreakerOpen = status.isBreakerOpen
        deliveryCount = state.belief.deliveryCount
        failureCount = state.belief.failureCount
        lastDeliveryAge = state.belief.lastDeliveryTime.map { now - $0 }
    }

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
