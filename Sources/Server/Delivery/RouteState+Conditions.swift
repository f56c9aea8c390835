/// What an operator is told about a route.
extension RouteState {
    /// Returns the reasons why gorush itself doesn't take pushes.
    func gorushIssues(at now: Duration) -> [RouteCondition] {
        // A probe, Apple and Google give more exact reasons than a request.
        let pausedSince = turns.breaker.pausedSince
        let isAway = pausedSince.map { now - $0 >= Self.awayInterval } ?? false
        let reason =
            profile.issue(hasProvenDevices: hasWaitingProvenDevices, isPaused: pausedSince != nil, at: now) ?? (isAway ? issue : nil)
        return [reason].compactMap { $0.map { RouteCondition(kind: .gorush($0), text: $0) } }
    }

    private var hasWaitingProvenDevices: Bool { turns.devices.lines.count(of: .proven) + turns.devices.lines.count(of: .again) > 0 }

    /// Returns the reasons why Apple or Google delivers nothing, or nothing for a bundle id.
    func providerIssues(at now: Duration) -> [RouteCondition] { profile.isUsable ? belief.issues(at: now) : [] }

    /// Returns whether an operator holds the route, or a hold has ended early.
    func holdCondition(at now: Duration) -> RouteCondition? { hold.condition(of: route.name, at: now) }

    /// Returns the conditions that may lose or delay pushes, in words for an operator.
    func warnings(at now: Duration) -> [RouteCondition] {
        profile.warnings(isPaused: turns.breaker.pausedSince != nil, at: now).map { RouteCondition(kind: .setting($0), text: $0) }
            + belief.warnings(at: now, troubledCount: troubled.count)
    }
}
