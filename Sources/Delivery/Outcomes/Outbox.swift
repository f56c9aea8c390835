import Concurrency
import Envelope
import PushProtocol
import StatusCrypto
import Store
import Wire

/// All that delivery reads from the store and writes to it.
struct Outbox: Sendable {
    let store: PushStore

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
        try await store.commit { transaction in
            try transaction.finish(plan.expired.map(\.id), as: .expired, reason: "lifetime", at: now)
            for (push, obstacle) in plan.unsendable {
                try transaction.finish([push.id], as: .refused, reason: obstacle.rawValue, at: now)
            }
            // Nobody else touches this queue: what was read is what is leased.
            guard try transaction.lease(plan.attempts, at: now) == plan.attempts.count else { throw StoreError.damaged }
        }
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
        let suspicions = try await suspicions(against: attempts.filter(\.outcome.isAmbiguous).map(\.token))
        let decided = attempts.map { attempt in
            let suspectedAt = attempt.outcome.isAmbiguous ? suspicions[attempt.token] : nil
            let decision = context.rules.decide(
                attempt.outcome, attempts: attempt.push.attempts + 1, hasCiphertext: !attempt.push.push.message.isEmpty,
                suspectedAt: suspectedAt, jitter: jitter())
            return (push: attempt.push, decision: decision)
        }
        let unregistered = try await store.commit { transaction in
            var unregistered: [ChangedRegistration] = []
            for (push, decision) in decided {
                switch decision.ending {
                case .finish(let outcome):
                    try transaction.finish([push.id], as: outcome, reason: decision.reason, at: context.rules.now)
                case .retry(let delay, let isUnknown):
                    if decision.dropsCiphertext { try transaction.dropCiphertext(push.id) }
                    try transaction.postpone(
                        push.id, until: context.steadyNow.advanced(by: delay), isUnknown: isUnknown, reason: decision.reason)
                case .release:
                    try transaction.release(push.id, to: push.state)
                }
                unregistered += try Self.apply(decision, to: push.push.deviceToken, push.push.tokenType, in: context, transaction)
            }
            return unregistered
        }
        return (decided.map(\.decision), unregistered)
    }

    /// Writes what a verdict means that comes after its push has ended: the device hears of it, the push does not.
    ///
    /// - Returns: the registrations that went with the token.
    func settleFeedback(
        _ failure: Failure, on token: String, _ type: TokenType, in context: Context
    ) async throws -> [ChangedRegistration] {
        let digest = Self.digest(token, type)
        let suspicions = try await suspicions(against: [digest])
        let decision = context.rules.decide(
            .failed(failure), attempts: 1, hasCiphertext: false, suspectedAt: suspicions[digest], jitter: 0)
        return try await store.commit { try Self.apply(decision, to: token, type, in: context, $0) }
    }

    /// Makes pushes of a route due that wait after failures for one of these reasons.
    func hasten(route: String, reasons: [String], at steadyNow: Timestamp) async throws {
        try await store.commit { try $0.hasten(route: route, reasons: reasons, at: steadyNow) }
    }

    /// The pushes that went out under a name: what a feedback can be about.
    func attempted(_ notification: NotificationID) async throws -> [PushStore.AttemptedPush] {
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

    /// Since when which of them are suspected.
    private func suspicions(against tokens: [Digest32]) async throws -> [Digest32: Timestamp] {
        guard !tokens.isEmpty else { return [:] }
        return try await store.commit { transaction in
            var suspicions: [Digest32: Timestamp] = [:]
            for token in tokens { suspicions[token] = try transaction.suspicion(against: token) }
            return suspicions
        }
    }

    private static func apply(
        _ decision: PushDecision, to token: String, _ type: TokenType, in context: Context, _ transaction: StoreTransaction
    ) throws -> [ChangedRegistration] {
        guard decision.token != .none else { return [] }
        let digest = digest(token, type)
        if decision.token == .suspect {
            try transaction.suspect(digest, at: context.rules.now)
        } else {
            try transaction.clearSuspicion(against: digest)
        }
        guard decision.token == .unregister else { return [] }
        return try transaction.bury(
            token, type: type, registeredBefore: context.attemptedAt, reason: decision.reason ?? "", route: context.route,
            at: context.rules.now)
    }
}
