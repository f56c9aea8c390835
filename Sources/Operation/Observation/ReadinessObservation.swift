/// A server's readiness at the last look.
package struct ReadinessObservation: Sendable, Equatable {
    package private(set) var issues: [Condition] = []
    package private(set) var warnings: [Condition] = []
    /// Whether the server was ready, or false before the first look.
    package private(set) var isReady = false
    /// The time since the start at which ``isReady`` last changed.
    package private(set) var since = Duration.zero

    package init() {}

    package mutating func update(issues: [Condition], warnings: [Condition], at now: Duration) {
        self.issues = issues
        self.warnings = warnings
        guard isReady != issues.isEmpty else { return }
        isReady = issues.isEmpty
        since = now
    }
}
