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
    /// Whether no device may be given up, because the clock is in doubt.
    var isHeld = false
    /// The bundle ids that are known to be stored.
    var savedTopics: Set<String>
    /// The monotonic time, by which delays are kept.
    var steadyNow: Timestamp
}

/// The result of recording attempts.
struct RecordedOutcomes: Sendable {
    /// The decisions, one for each attempt.
    var decisions: [PushDecision] = []
    /// Registrations that ended with their tokens.
    var unregistered: [ChangedRegistration] = []
    /// Bundle ids that are stored now.
    var savedTopics: [String] = []
    /// Whether the planned attempts have begun. If a push has finished since it was read, none of them has.
    var isLeased = true
}

extension PushOutbox {
    /// Decides the outcome of each attempt, and records it in one transaction with the next plan. The plan's expired, withdrawn and
    /// unsendable pushes finish, its deferred ones are postponed, and those in its batches are leased.
    ///
    /// - Parameter jitter: Returns a new number from 0 to 1 for each push.
    func recordOutcomes(
        _ attempts: [PushAttempt], leasing plan: DeliveryPlan = DeliveryPlan(), in context: OutcomeContext, jitter: () -> Double
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
        for attempt in attempts {
            let earlier = attempt.outcome.isDeviceRefusal ? suspicions[attempt.push.targetDigest] : nil
            let decision = context.decide(attempt, suspicion: earlier)
            switch decision.token {
            case .suspect(let suspicion), .giveUp(let suspicion): suspicions[attempt.push.targetDigest] = suspicion
            case .works, .unregister: if !suspicions.isEmpty { suspicions[attempt.push.targetDigest] = nil }
            case .none: break
            }
            let change: OutboxUpdate.PushChange =
                switch decision.disposition {
                case .finish(let outcome): .finish(outcome)
                case .retry(let delay, let isUnknown): .retry(at: context.steadyNow.advanced(by: delay), isUnknown: isUnknown)
                case .releaseLease: .release(attempt.push.state)
                }
            update.pushes.append(
                .init(
                    id: attempt.push.id, change, reason: decision.reason, words: attempt.outcome.words, refusals: decision.refusals))
            update.tokens += attempt.tokenChanges(by: decision, in: context)
            if case .finish(.sent) = decision.disposition, !context.savedTopics.contains(attempt.topic) {
                update.deliveredBundleIDs.append((context.route, attempt.topic))
            }
            recorded.decisions.append(decision)
        }
        recorded.savedTopics = update.deliveredBundleIDs.map(\.apnTopic)
        var whole = update
        whole.pushes += plan.changes(at: context.steadyNow, jitter: jitter)
        do {
            recorded.unregistered = try await self.update(whole, at: context.now)
        } catch StoreError.alreadyEnded, StoreError.rowLocked {
            recorded.isLeased = false
            recorded.unregistered = try await self.update(update, at: context.now)
        }
        return recorded
    }

    /// Finishes all pushes of a route that were accepted before a time, those in one transaction in a few milliseconds of the writer.
    ///
    /// - Returns: The number of pushes.
    func expireAllPushes(route: String, acceptedBefore oldest: Timestamp, at now: Timestamp) async throws -> Int {
        let limit = 1_000
        var total = 0
        while true {
            let count = try await expirePushes(route: route, acceptedBefore: oldest, limit: limit, at: now)
            total += count
            if count < limit { return total }
        }
    }
}

extension OutcomeContext {
    fileprivate func decide(_ attempt: PushAttempt, suspicion: Suspicion?) -> PushDecision {
        var decision = rules.decide(attempt, suspicion: suspicion)
        if isHeld, decision.token.isGivingUp {
            decision = PushDecision(disposition: .retry(after: ProportionalBackOff.longest, isUnknown: false), reason: decision.reason)
        }
        return attempt.push.notification?.isTriedOnce ?? false ? decision.ofOnlyAttempt : decision
    }
}

extension PushDecision {
    /// The decision for a push with a single attempt: its sender gets the result of that attempt, so the push finishes in any case.
    fileprivate var ofOnlyAttempt: PushDecision {
        if case .finish(let outcome) = disposition, outcome != .expired { return self }
        var decision = self
        decision.disposition = .finish(.withdrawn)
        return decision
    }
}
