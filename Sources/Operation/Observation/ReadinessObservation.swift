/// A server's readiness at the last look: what an operator is told, and since when it is so.
///
/// A reason for not being ready ends at once, because a minute more would take servers out that work. A warning about deliveries ends when
/// it has been gone for a minute, because only attempts show it, and it comes and goes with them.
package struct ReadinessObservation: Sendable, Equatable {
    /// How long a warning about deliveries is gone before it has ended.
    static let gap = Duration.seconds(60)

    /// A condition that is told.
    package struct Told: Sendable, Equatable {
        package fileprivate(set) var condition: Condition
        /// The time since the start at which it began.
        package fileprivate(set) var since: Duration
        fileprivate let subject: String
        fileprivate var seenAt: Duration
    }

    package private(set) var issues: [Told] = []
    /// The warnings that have not ended.
    private var current: [Told] = []
    /// Whether the server was ready, or false before the first look.
    package private(set) var isReady = false
    /// The time since the start at which ``isReady`` last changed.
    package private(set) var since = Duration.zero
    /// The time of the last look.
    private var lookedAt = Duration.zero

    package init() {}

    /// The warnings. Beside a reason there are only those that are so now, because others may be its beginning.
    package var warnings: [Told] { issues.isEmpty ? current : current.filter { $0.seenAt == lookedAt } }

    package mutating func update(issues: [Condition], warnings: [Condition], at now: Duration) {
        lookedAt = now
        self.issues = Self.told(issues, after: self.issues, at: now)
        let told = Self.told(warnings, after: current, at: now)
        let subjects = Set(told.map(\.subject))
        current =
            told
            + current.filter { $0.condition.isAboutDeliveries && now - $0.seenAt < Self.gap && !subjects.contains($0.subject) }
        guard isReady != issues.isEmpty else { return }
        isReady = issues.isEmpty
        since = now
    }

    private static func told(_ conditions: [Condition], after earlier: [Told], at now: Duration) -> [Told] {
        conditions.map { condition in
            let subject = condition.subject
            let since = earlier.first { $0.subject == subject }?.since ?? now
            return Told(condition: condition, since: since, subject: subject, seenAt: now)
        }
    }
}

extension Condition {
    fileprivate var isAboutDeliveries: Bool {
        switch self {
        case .gorush, .provider, .route: true
        default: false
        }
    }

    /// What it is about: that stays the same while numbers and the words of others change.
    fileprivate var subject: String {
        let own =
            // After the route and the statement come the words of Apple or Google.
            isAboutDeliveries ? text.split(separator: ": ").prefix(2).joined(separator: ": ") : text
        return "\(kind) \(own.split(separator: " ").filter { !$0.allSatisfy(\.isNumber) }.joined(separator: " "))"
    }
}
