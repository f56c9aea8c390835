/// What an operator sees of a route.
struct RouteView: Sendable, Equatable {
    /// Why gorush takes no pushes.
    let trouble: String?
    let storeTrouble: String?
    /// Verdicts on devices are not believed.
    let isSurge: Bool
    /// What will lose pushes though all seems well.
    let warnings: [String]
    let isBreakerOpen: Bool
    let notificationsInFlight: Int

    init(_ state: RouteState, at now: Duration) {
        trouble = state.trouble ?? (state.isReachable == false ? "gorush is not reachable" : nil)
        storeTrouble = state.storeTrouble
        isSurge = state.isSurge(at: now)
        warnings = state.warnings
        isBreakerOpen = state.breaker.state != .closed
        notificationsInFlight = state.notificationsInFlight
    }

    /// Why pushes are not delivered; empty when they are.
    var troubles: [String] {
        [
            trouble, storeTrouble.map { "the outbox cannot be used: \($0)" },
            isSurge ? "so many pushes are turned down that it cannot be the devices" : nil,
        ].compactMap(\.self)
    }
}
