import Bytes
import Envelope
import PushProtocol
import Store
import Wire

/// The values that attempts of one transaction share.
struct OutcomeContext: Sendable {
    var route: String
    var rules: OutcomeRules
    /// The time of the wall clock.
    var now: Timestamp
    /// The bundle ids that are known to be stored.
    var savedTopics: Set<String>
}

/// The result of recording attempts.
struct RecordedOutcomes: Sendable {
    /// The decisions, one for each attempt.
    var decisions: [PushDecision] = []
    /// Registrations that ended with their tokens.
    var unregistered: [ChangedRegistration] = []
    /// Bundle ids that are stored now.
    var savedTopics: [String] = []
    /// What was written of pushes, and which of their rows another session holds.
    var changes: [OutboxUpdate.Push] = []
    var locked: Set<Int64> = []
}

extension PushOutbox {
    /// Decides the outcome of each attempt, and records it in one transaction.
    ///
    /// - Parameter locked: Decided changes whose rows another session held.
    func recordOutcomes(
        _ attempts: [PushAttempt], withLocked locked: [OutboxUpdate.Push] = [], in context: OutcomeContext
    ) async throws -> RecordedOutcomes {
        var context = context
        var suspicions: [Digest32: Suspicion] = [:]
        if attempts.contains(where: \.outcome.isRefusal) {
            let targets = attempts.filter(\.outcome.isDeviceRefusal).map(\.push.targetDigest)
            let stored = try await self.suspicions(against: targets, in: context.route)
            suspicions = stored.byTarget
            context.rules.refusals.oldestSuspicion = stored.oldest
        }
        var recorded = RecordedOutcomes()
        var update = OutboxUpdate()
        (update.pushes, update.skipsLockedRows) = (locked, !locked.isEmpty)
        for attempt in attempts {
            let earlier = attempt.outcome.isDeviceRefusal ? suspicions[attempt.push.targetDigest] : nil
            let decision = context.rules.decide(attempt, suspicion: earlier)
            switch decision.token {
            case .suspect(let suspicion), .giveUp(let suspicion): suspicions[attempt.push.targetDigest] = suspicion
            case .works, .unregister: if !suspicions.isEmpty { suspicions[attempt.push.targetDigest] = nil }
            case .none: break
            }
            let change: OutboxUpdate.PushChange =
                switch decision.disposition {
                case .finish(let outcome): .finish(outcome)
                case .retry(let delay, let isUnknown): .retry(at: attempt.answeredAt.advanced(by: delay), isUnknown: isUnknown)
                case .release: .release(attempt.push.state)
                }
            update.pushes.append(
                .init(
                    id: attempt.push.id, change, reason: decision.reason, words: attempt.outcome.words, refusals: decision.refusals,
                    attempt: attempt.counted, slot: attempt.push.slot(in: context.route)))
            update.tokens += attempt.tokenChanges(by: decision, in: context)
            if case .finish(.sent) = decision.disposition, !context.savedTopics.contains(attempt.topic) {
                update.deliveredBundleIDs.append((context.route, attempt.topic))
            }
            recorded.decisions.append(decision)
        }
        recorded.savedTopics = update.deliveredBundleIDs.map(\.apnTopic)
        let updated = try await self.update(update, at: context.now)
        (recorded.unregistered, recorded.changes, recorded.locked) = (updated.unregistered, update.pushes, updated.locked)
        return recorded
    }
}

extension PushAttempt {
    /// The attempt as its row counts it; nil if it was not made.
    fileprivate var counted: OutboxUpdate.Attempt? {
        outcome.isNotSent ? nil : OutboxUpdate.Attempt(count: push.attempts + 1, at: postedAt, uncertain: uncertain)
    }
}

extension PushOutbox {
    /// Finishes all pushes of a route that were accepted before a time, so many in a transaction that others wait for a few milliseconds.
    ///
    /// - Returns: The number of pushes.
    func expireAllPushes(route: String, acceptedBefore oldest: Timestamp, callsBefore oldestCall: Timestamp, at now: Timestamp) async throws
        -> Int
    {
        let limit = 1_000
        func all(_ expire: () async throws -> Int) async throws -> Int {
            var total = 0
            while true {
                let count = try await expire()
                total += count
                if count < limit { return total }
            }
        }
        return try await all { try await expireCalls(route: route, acceptedBefore: oldestCall, limit: limit, at: now) }
            + all { try await expirePushes(route: route, acceptedBefore: oldest, limit: limit, at: now) }
    }
}
