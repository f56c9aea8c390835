import Bytes
import Envelope
import PushProtocol
import Store
import Tasks
import Wire

/// The reads and writes of the delivery on the store.
struct Outbox: Sendable {
    let store: any PushOutbox

    /// How many pushes expire in one transaction, in a few milliseconds of the writer.
    private static let expiryCount = 1_000

    /// Recovers the outbox after the previous process.
    ///
    /// - Returns: The number of attempts that were in flight when that process ended.
    func takeOver(routes: Set<RouteAssignment>, at now: Timestamp) async throws -> Int {
        try await store.takeOverOutbox(routes: routes, latest: now.advanced(by: BackOff.longestOfPush))
    }

    // MARK: Before an attempt

    /// Returns pushes whose next attempt is due.
    func due(route: String, at steadyNow: Timestamp, limit: Int) async throws -> [QueuedPush] {
        try await store.duePushes(route: route, at: steadyNow, limit: limit)
    }

    /// Returns when the next attempt is due, or nil if the queue is empty.
    func nextDue(route: String) async throws -> Timestamp? {
        try await store.nextAttempt(route: route)
    }

    /// Finishes pushes that were accepted before a time.
    ///
    /// - Returns: The number of pushes.
    func expire(route: String, acceptedBefore oldest: Timestamp, at now: Timestamp) async throws -> Int {
        var total = 0
        while true {
            let count = try await store.expirePushes(route: route, acceptedBefore: oldest, limit: Self.expiryCount, at: now)
            total += count
            if count < Self.expiryCount { return total }
        }
    }

    /// Makes pushes due that wait because of the route, the oldest first and a bounded number at a time.
    ///
    /// - Returns: The row to go on after, or nil if there are no more.
    func retryNow(route: String, after row: Int64, at steadyNow: Timestamp) async throws -> Int64? {
        try await store.retryNow(route: route, reasons: OutcomeRules.reasonsOfRoute, after: row, at: steadyNow)
    }

    // MARK: After an attempt

    struct Attempt: Sendable, Equatable {
        var push: QueuedPush
        var outcome: AttemptOutcome
        /// The time of the attempt by the wall clock.
        var at: Timestamp
        /// The times of the request and of its end by ``SteadyTime``.
        var postedAt: Timestamp
        var answeredAt: Timestamp
        /// Whether a push was delivered to the device since the request was posted, so that a refusal says nothing about it.
        var isVoid = false
        /// Whether the device may have come under suspicion since the push was read.
        var maySuspect = false
    }

    /// The values that attempts of one transaction share.
    struct Context: Sendable {
        var route: String
        var rules: OutcomeRules
        /// The time of the wall clock.
        var now: Timestamp
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

    /// Decides the outcome of each attempt, and records it in one transaction with the next plan. The plan's expired, withdrawn and
    /// unsendable pushes finish, its deferred and suspended ones are postponed, and those in its batches are leased.
    ///
    /// - Parameter jitter: Returns a number from 0 to 1, another one for each push.
    func recordOutcomes(
        _ attempts: [Attempt], leasing plan: DeliveryPlan = DeliveryPlan(), in context: Context, jitter: () -> Double
    ) async throws -> RecordedOutcomes {
        var context = context
        var suspicions: [Digest32: Suspicion] = [:]
        if attempts.contains(where: \.outcome.isRefusal) {
            let targets = attempts.filter(\.outcome.isDeviceRefusal).map(\.push.targetDigest)
            let stored = try await store.suspicions(against: targets, in: context.route)
            suspicions = stored.byTarget
            context.rules.refusals.oldestSuspicion = stored.oldest
        }
        var recorded = RecordedOutcomes()
        var update = OutboxUpdate()
        for attempt in attempts {
            let earlier = attempt.outcome.isDeviceRefusal ? suspicions[attempt.push.targetDigest] : nil
            let decision = decide(attempt, suspicion: earlier, in: context, jitter: jitter)
            switch decision.token {
            case .suspect(let suspicion): suspicions[attempt.push.targetDigest] = suspicion
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
            recorded.unregistered = try await store.update(whole, at: context.now)
        } catch StoreError.alreadyEnded, StoreError.rowLocked {
            recorded.isLeased = false
            recorded.unregistered = try await store.update(update, at: context.now)
        }
        return recorded
    }

    private func decide(_ attempt: Attempt, suspicion: Suspicion?, in context: Context, jitter: () -> Double) -> PushDecision {
        let decision = context.rules.decide(attempt, suspicion: suspicion, jitter: jitter())
        return attempt.push.notification?.isTriedOnce ?? false ? decision.ofOnlyAttempt : decision
    }

    /// Returns the devices that got a push of a route since a time, with the time; no more than the rule about failing routes needs.
    func recentDevices(route: String, since time: Timestamp) async throws -> [Installation: Timestamp] {
        try await store.recentDevices(route: route, since: time, limit: RecentDevices.maximumCount)
    }

    /// Returns the bundle ids that a push was ever delivered to, by route.
    func deliveredBundleIDs() async throws -> [String: Set<String>] {
        try await store.deliveredBundleIDs()
    }

    /// The number of pushes that found the queue full, by route, since the store was opened.
    var refusedCounts: [String: Int] { store.refusedPushCounts }

    /// Returns the number of pushes in the queue, by route.
    func queuedCounts() async throws -> [String: Int] {
        try await store.queuedPushCounts()
    }
}

extension Outbox.Attempt {
    /// After this time a further delivery to a target is stored.
    private static let deliveryInterval = Duration.seconds(24 * 3_600)

    /// The bundle id, or "" for Android.
    var topic: String { push.push.tokenType == .apn ? push.push.apnTopic : "" }

    var refusal: RefusalRules.Refusal {
        RefusalRules.Refusal(
            topic: topic, target: push.targetDigest, isProven: push.provenAt != nil, postedAt: postedAt, answeredAt: answeredAt,
            isCall: push.notification?.isTriedOnce ?? false)
    }

    /// Returns what is written about the device token.
    fileprivate func tokenChanges(by decision: PushDecision, in context: Outbox.Context) -> [OutboxUpdate.TokenChange] {
        switch decision.token {
        case .none: return []
        case .suspect(let suspicion): return [.suspect(push.targetDigest, suspicion, route: context.route)]
        case .works:
            var changes: [OutboxUpdate.TokenChange] = []
            if maySuspect || push.suspicion != nil {
                let release = OutboxUpdate.Release(target: push.push.target, route: context.route, at: context.steadyNow)
                changes.append(.clearSuspicion(push.targetDigest, release: release))
            }
            if push.deliveredAt.map({ $0.advanced(by: Self.deliveryInterval) <= context.now }) ?? true {
                changes.append(push.registration.map { .delivered($0) } ?? .deliveredToken(push.targetDigest))
            }
            return changes
        case .unregister:
            let dead = DeadToken(
                token: push.push.deviceToken, type: push.push.tokenType, apnTopic: topic, tried: push.registration, attemptedAt: at,
                reason: decision.reason ?? .unregistered, route: context.route)
            return [.clearSuspicion(push.targetDigest, release: nil), .unregister(dead)]
        }
    }
}

extension PushDecision {
    /// The decision for a push with a single attempt: its sender gets the result of that attempt, so the push finishes in any case.
    fileprivate var ofOnlyAttempt: PushDecision {
        if case .finish = disposition { return self }
        var decision = self
        decision.disposition = .finish(.withdrawn)
        return decision
    }
}
