import Concurrency
import Envelope
import PushProtocol
import StatusCrypto
import Store
import Wire

/// All that delivery reads from the store and writes to it.
struct Outbox: Sendable {
    let store: any PushOutbox

    /// Pushes that end in one transaction for being too old: some milliseconds of the writer.
    private static let expiryCount = 1_000

    /// Puts the outbox in order after the process before.
    ///
    /// - Returns: how many attempts were under way when that ended.
    func takeOver(routes: Set<RouteAssignment>, at now: Timestamp) async throws -> Int {
        try await store.takeOverOutbox(routes: routes, latest: now.advanced(by: BackOff.longestOfPush))
    }

    // MARK: Before an attempt

    /// Pushes whose next attempt is due.
    func due(route: String, at steadyNow: Timestamp, limit: Int) async throws -> [QueuedPush] {
        try await store.duePushes(route: route, at: steadyNow, limit: limit)
    }

    /// When the next attempt is due; nil: the queue is empty.
    func nextDue(route: String) async throws -> Timestamp? {
        try await store.nextAttempt(route: route)
    }

    /// Ends what was accepted too long ago.
    ///
    /// - Returns: how many pushes.
    func expire(route: String, acceptedBefore oldest: Timestamp, at now: Timestamp) async throws -> Int {
        var total = 0
        while true {
            let count = try await store.expirePushes(route: route, acceptedBefore: oldest, limit: Self.expiryCount, at: now)
            total += count
            if count < Self.expiryCount { return total }
        }
    }

    // MARK: After an attempt

    struct Attempt: Sendable {
        var push: QueuedPush
        var outcome: DeliveryOutcome
        /// When it was made.
        var at: Timestamp

        fileprivate var token: TriedToken { TriedToken(push) }
    }

    /// What attempts have in common.
    struct Context: Sendable {
        var route: String
        var rules: OutcomeRules
        /// Bundle ids that a push of the route was delivered to.
        var deliveredTopics: Set<String>
        /// The part of these that is written down.
        var savedTopics: Set<String>
        /// By the steady time, by which delays are kept.
        var steadyNow: Timestamp
    }

    /// What came of attempts.
    struct Settlement: Sendable {
        /// One for each attempt.
        var decisions: [PushDecision] = []
        /// Registrations that went with their tokens.
        var unregistered: [ChangedRegistration] = []
        /// Bundle ids that are written down now.
        var savedTopics: [String] = []
        /// Whether what was planned has begun; false if a push of it has ended since it was read: then nothing of it is done.
        var isLeased = true
    }

    /// Decides what follows from attempts against what is known of their tokens, and writes it in one transaction with the beginning of
    /// the next ones: what of these cannot be sent ends, what has to wait is put off, and the rest is marked as under way.
    ///
    /// - Parameter jitter: a number from 0 to 1, another one for each push.
    func settle(
        _ attempts: [Attempt], leasing plan: DeliveryPlan = DeliveryPlan(), in context: Context, jitter: () -> Double
    ) async throws -> Settlement {
        let suspicions = try await store.suspicions(against: attempts.filter(\.outcome.isAmbiguous).map(\.token.digest))
        var settlement = Settlement()
        var update = OutboxUpdate()
        for attempt in attempts {
            let (push, token) = (attempt.push, attempt.token)
            let suspectedAt = attempt.outcome.isAmbiguous ? suspicions[token.digest] : nil
            let decision = decide(attempt, suspectedAt: suspectedAt, in: context, jitter: jitter)
            let change: OutboxUpdate.PushChange =
                switch decision.ending {
                case .finish(let outcome): .finish(outcome)
                case .retry(let delay, let isUnknown): .retry(at: context.steadyNow.advanced(by: delay), isUnknown: isUnknown)
                case .release: .release(push.state)
                }
            update.pushes.append(
                .init(id: push.id, change, reason: decision.reason, dropsCiphertext: decision.dropsCiphertext))
            update.tokens += token.changes(by: decision, attemptedAt: attempt.at, in: context)
            if case .finish(.sent) = decision.ending, !context.savedTopics.contains(token.apnTopic) {
                update.deliveredTopics.append((context.route, token.apnTopic))
            }
            settlement.decisions.append(decision)
        }
        settlement.savedTopics = update.deliveredTopics.map(\.apnTopic)
        var whole = update
        whole.pushes += plan.changes { context.steadyNow.advanced(by: Probation.patience * jitter()) }
        do {
            settlement.unregistered = try await store.update(whole, at: context.rules.now)
        } catch StoreError.alreadyEnded {
            settlement.isLeased = false
            settlement.unregistered = try await store.update(update, at: context.rules.now)
        }
        return settlement
    }

    private func decide(_ attempt: Attempt, suspectedAt: Timestamp?, in context: Context, jitter: () -> Double) -> PushDecision {
        let decision = context.rules.decide(
            attempt.outcome, on: context.history(of: attempt.token), attempts: attempt.push.attempts + 1,
            hasCiphertext: !attempt.push.push.message.isEmpty, suspectedAt: suspectedAt, jitter: jitter())
        guard attempt.push.notification?.isTriedOnce ?? false else { return decision }
        return decision.ofOnlyAttempt(attempt.outcome, isSurge: context.rules.isSurge)
    }

    /// Makes pushes of a route due that wait after failures for one of these reasons.
    ///
    /// - Returns: The row to go on after, or nil at the end.
    func hasten(route: String, reasons: Set<String>, after row: Int64, at steadyNow: Timestamp) async throws -> Int64? {
        try await store.hasten(route: route, reasons: reasons, after: row, at: steadyNow)
    }

    /// The bundle ids that a push was ever delivered to, by route.
    func deliveredTopics() async throws -> [String: Set<String>] {
        try await store.deliveredTopics()
    }

    /// How many pushes found as many waiting as may, by route, since the store was opened.
    var refusedCounts: [String: Int] { store.refusedPushCounts }

    /// How many pushes wait, by route.
    func queuedCounts() async throws -> [String: Int] {
        try await store.queuedPushCounts()
    }
}

extension Outbox.Context {
    fileprivate func history(of token: TriedToken) -> TargetHistory {
        TargetHistory(tokenHasWorked: token.hasWorked, topicHasWorked: deliveredTopics.contains(token.apnTopic))
    }
}
