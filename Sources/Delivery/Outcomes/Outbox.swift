import Concurrency
import Envelope
import Notifications
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

    /// Ends what cannot be sent, and marks the rest as under way, in one transaction.
    func lease(_ plan: DeliveryPlan, at now: Timestamp) async throws {
        var update = OutboxUpdate()
        update.pushes += plan.expired.map { .init(id: $0.id, .finish(.expired), reason: "lifetime") }
        update.pushes += plan.unsendable.map { push, obstacle in .init(id: push.id, .finish(.refused), reason: obstacle.rawValue) }
        update.pushes += plan.attempts.map { push, notification in .init(id: push, .lease(notification)) }
        _ = try await store.update(update, at: now)
    }

    // MARK: After an attempt

    struct Attempt: Sendable {
        var push: QueuedPush
        var outcome: DeliveryOutcome

        fileprivate var token: Digest32 { Outbox.digest(push.push.deviceToken, push.push.tokenType) }
    }

    /// What attempts have in common.
    struct Context: Sendable {
        var route: String
        var rules: OutcomeRules
        /// When they were made.
        var attemptedAt: Timestamp
        /// By the steady time, by which delays are kept.
        var steadyNow: Timestamp
    }

    /// Decides what follows from attempts against what is known of their tokens, and writes it in one transaction.
    ///
    /// - Parameter jitter: a number from 0 to 1, another one for each push.
    /// - Returns: what was decided, and the registrations that went with their tokens.
    func settle(
        _ attempts: [Attempt], in context: Context, jitter: () -> Double
    ) async throws -> (decisions: [PushDecision], unregistered: [ChangedRegistration]) {
        let suspicions = try await store.suspicions(against: attempts.filter(\.outcome.isAmbiguous).map(\.token))
        let decided = attempts.map { attempt in
            let suspectedAt = attempt.outcome.isAmbiguous ? suspicions[attempt.token] : nil
            var decision = context.rules.decide(
                attempt.outcome, attempts: attempt.push.attempts + 1, hasCiphertext: !attempt.push.push.message.isEmpty,
                suspectedAt: suspectedAt, jitter: jitter())
            if attempt.push.notification?.isTriedOnce ?? false {
                decision = decision.ofOnlyAttempt(attempt.outcome, isSurge: context.rules.isSurge)
            }
            return (push: attempt.push, decision: decision)
        }
        var update = OutboxUpdate()
        for (push, decision) in decided {
            let change: OutboxUpdate.PushChange =
                switch decision.ending {
                case .finish(let outcome): .finish(outcome)
                case .retry(let delay, let isUnknown): .retry(at: context.steadyNow.advanced(by: delay), isUnknown: isUnknown)
                case .release: .release(push.state)
                }
            update.pushes.append(
                .init(id: push.id, change, reason: decision.reason, dropsCiphertext: decision.dropsCiphertext))
            update.tokens += Self.changes(by: decision, of: push.push.deviceToken, push.push.tokenType, in: context)
        }
        let unregistered = try await store.update(update, at: context.rules.now)
        return (decided.map(\.decision), unregistered)
    }

    /// Writes what a verdict means that comes after its push has ended: the device hears of it, the push does not.
    ///
    /// - Returns: the registrations that went with the token.
    func settleFeedback(
        _ failure: Failure, on token: String, _ type: TokenType, in context: Context
    ) async throws -> [ChangedRegistration] {
        let digest = Self.digest(token, type)
        let suspicions = try await store.suspicions(against: [digest])
        let decision = context.rules.decide(
            .failed(failure), attempts: 1, hasCiphertext: false, suspectedAt: suspicions[digest], jitter: 0)
        var update = OutboxUpdate()
        update.tokens = Self.changes(by: decision, of: token, type, in: context)
        return try await store.update(update, at: context.rules.now)
    }

    /// Makes pushes of a route due that wait after failures for one of these reasons.
    func hasten(route: String, reasons: [String], at steadyNow: Timestamp) async throws {
        try await store.hasten(route: route, reasons: reasons, at: steadyNow)
    }

    /// The pushes that went out under a name: what a feedback can be about.
    func attempted(_ notification: NotificationID) async throws -> [AttemptedPush] {
        try await store.attemptedPushes(notification)
    }

    /// How many pushes wait, by route.
    func queuedCounts() async throws -> [String: Int] {
        try await store.queuedPushCounts()
    }

    // MARK: Device tokens

    /// Under which a device token is suspected.
    private static func digest(_ token: String, _ type: TokenType) -> Digest32 {
        SHA256.hash(Array("\(type.rawValue) \(token)".utf8))
    }

    private static func changes(
        by decision: PushDecision, of token: String, _ type: TokenType, in context: Context
    ) -> [OutboxUpdate.TokenChange] {
        switch decision.token {
        case .none: []
        case .suspect: [.suspect(digest(token, type))]
        case .clearSuspicion: [.clearSuspicion(digest(token, type))]
        case .unregister:
            [
                .clearSuspicion(digest(token, type)),
                .unregister(
                    DeadToken(
                        text: token, type: type, attemptedAt: context.attemptedAt, reason: decision.reason ?? "", route: context.route)),
            ]
        }
    }
}
