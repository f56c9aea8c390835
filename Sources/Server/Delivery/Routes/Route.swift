import Bytes
import Envelope
import HTTPClient
import Logging
import PushProtocol
import StatusCrypto
import Store
import Synchronization
import Tasks

/// Delivers a route's pushes. Its queue in the outbox, connections, breaker and back-off are separate, so that a route's failures don't
/// delay other routes. Does what its ``RouteState`` says, and tells it what came of that.
final class Route: Sendable {
    /// The values that all routes share.
    struct Dependencies: Sendable {
        var outbox: any PushOutbox
        var configuration: DeliveryConfiguration
        var wallClock: WallClock
        var time: SteadyTime
        var random: any RandomNumberGenerator & Sendable
        var logger: Logger
        var firstAttempts: FirstAttemptWaiters
        /// This server's number among the database's servers.
        var memberNumber: @Sendable () -> Int64
        /// Whether this server still owns the pushes that it leased under a number.
        var mayPost: @Sendable (_ memberNumber: Int64) -> Bool
        var onUnregistered: @Sendable ([ChangedRegistration]) async -> Void
    }

    let name: String
    private let platform: GorushPlatform
    /// The URL of the route's gorush, for operators.
    let gorushURL: String
    private let state: Mutex<RouteState>
    private let log: Mutex<(status: RouteStatus, lines: RouteLog)>
    private let changed = Notify()
    /// The number of pushes that found the queue full, when it was last read.
    private let refused = Atomic<Int>(0)
    private let dependencies: Dependencies
    private let planner: BatchPlanner
    private let http: HTTPClient
    private let gorush: GorushClient
    private let metrics: RouteMetrics
    private let logger: Logger

    /// - Parameter routesOfEndpoint: How many routes share its gorush, itself included.
    init(_ route: DeliveryConfiguration.Route, routesOfEndpoint: Int, dependencies: Dependencies) {
        name = route.name
        platform = route.platform
        self.dependencies = dependencies
        let configuration = dependencies.configuration
        let endpoint = configuration.endpoint(of: route)
        // The probe needs a connection in addition to the connections for pushes.
        http = HTTPClient(
            configuration: .init(
                maximumConnectionsPerHost: configuration.maximumRequestsInFlight + 1,
                certificateAuthorityFile: endpoint.certificateAuthorityFile))
        gorush = GorushClient(http: http, endpoint: endpoint, probeTimeout: configuration.probeTimeout)
        planner = BatchPlanner(
            dataFormat: configuration.dataFormat, templates: configuration.templates(of: route), lifetime: configuration.lifetime,
            padPayload: configuration.padPayload)
        metrics = RouteMetrics(route: route.name, platform: route.platform)
        var logger = dependencies.logger
        logger[metadataKey: "route"] = "\(route.name)"
        logger[metadataKey: "gorush"] = "\(endpoint.publicURL)"
        gorushURL = endpoint.publicURL
        self.logger = logger
        let state = RouteState(route: route, configuration: configuration, routesOfEndpoint: routesOfEndpoint)
        log = Mutex((RouteStatus(state, at: .zero), RouteLog()))
        self.state = Mutex(state)
    }

    // MARK: Life

    /// Signals that the queue may have new pushes.
    func wake() { handleAndWake(.woken) }

    /// Records bundle ids that were proven in an earlier process.
    func haveWorked(_ topics: Set<String>) { handle(.topicsSaved(topics)) }

    /// Records devices that got a push in an earlier process, with the time by the wall clock.
    func haveGotPushes(_ devices: [Installation: Timestamp]) { handle(.restored(devices.mapValues(dependencies.time.elapsed))) }

    /// Stops the route: it doesn't post further pushes, and ``run()`` returns when the requests in flight have ended.
    func stop() { handleAndWake(.stopping) }

    /// Delivers until stopped. A cancellation cancels the attempts in flight, and the route records their outcome as unknown.
    func run() async {
        await withDiscardingTaskGroup { probes in
            await withDiscardingTaskGroup { requests in
                while !Task.isCancelled {
                    let now = dependencies.time.elapsed()
                    let action = state.withLock { $0.next(at: now) }
                    log(at: now)
                    switch action {
                    case .probe: probes.addTask { await self.probe() }
                    case .expire: await reportingStoreFailure { try await expire() }
                    case .retryNow(let row): await reportingStoreFailure { try await retryNow(after: row) }
                    case .postDue(let count, let batch):
                        await reportingStoreFailure { try await postDuePushes(for: count, batch: batch, in: &requests) }
                    case .recordOutcomes: await reportingStoreFailure { try await recordOutcomes() }
                    case .wait(let until): await dependencies.time.wait(for: changed, until: until)
                    case .stop: return
                    }
                }
            }
            // A probe's result no longer matters.
            probes.cancelAll()
        }
        // Cancelled attempts have outcomes, too.
        await retryingUntilCommitted { try await recordOutcomes() }
        http.shutdown()
    }

    private func reportingStoreFailure(_ body: () async throws -> Void) async {
        do { try await body() } catch { handle(.storeFailed("\(error)")) }
    }

    /// Handles an event that may occur while ``run()`` waits, and wakes it.
    private func handleAndWake(_ event: RouteState.Event) {
        handle(event)
        changed.notify()
    }

    /// Handles an event from a task that ``run()`` waits for anyway, and logs status changes.
    private func handle(_ event: RouteState.Event) {
        let now = dependencies.time.elapsed()
        state.withLock { $0.handle(event, at: now) }
        log(at: now)
    }

    // MARK: Actions

    private func probe() async {
        let probe = await gorush.probe()
        if !Task.isCancelled { handleAndWake(.probed(probe)) }
    }

    private func expire() async throws {
        let reading = dependencies.wallClock.read()
        guard !reading.isHeld else { return }
        let now = reading.now
        let oldest = now.advanced(by: .zero - dependencies.configuration.lifetime)
        let count = try await dependencies.outbox.expireAllPushes(route: name, acceptedBefore: oldest, at: now)
        metrics.finished(.expired, .expired, by: count)
    }

    private func retryNow(after row: Int64) async throws {
        let last = try await dependencies.outbox.retryNow(
            route: name, reasons: OutcomeRules.reasonsOfRoute, after: row, at: dependencies.time.now)
        handle(.retriedNow(upTo: last))
    }

    /// The minimum number of pushes to read, so that even for a single request there is a push whose target may be attempted.
    private static let minimumReadCount = 32

    private func postDuePushes(for requestCount: Int, batch: Int?, in group: inout DiscardingTaskGroup) async throws {
        guard dependencies.mayPost(dependencies.memberNumber()) else { return handle(.storeFailed("the lease of this server has ended")) }
        let (outbox, time) = (dependencies.outbox, dependencies.time)
        let limit = requestCount * (batch ?? 1)
        let due = try await outbox.duePushes(route: name, at: time.now, limit: max(limit, Self.minimumReadCount))
        guard !due.isEmpty else {
            try await recordOutcomes()
            let next = try await outbox.nextAttempt(route: name)
            return handle(.nothingDue(until: next.map(time.elapsed)))
        }
        let (elapsed, steadyNow) = (time.elapsed(), time.now)
        // If a request failed during this read, its released pushes are in `due`. The route does not post them now.
        guard state.withLock({ $0.requestCapacity(at: elapsed) >= requestCount }) else { return handle(.woken) }
        let reading = dependencies.wallClock.read()
        let now = reading.now
        var random = dependencies.random
        let (candidates, pause) = state.withLock { state in
            (state.candidates(among: due, at: elapsed), state.evidence.failure.nextAttempt(at: elapsed))
        }
        guard !candidates.isEmpty else {
            try await recordOutcomes()
            return handle(.nothingDue(until: pause ?? elapsed))
        }
        func isDoubtful(_ push: QueuedPush) -> Bool { reading.age(since: push.acceptedAt, lifetime: planner.lifetime) == .doubtful }
        var plan = planner.plan(
            candidates.filter { !isDoubtful($0) }, batch: batch, limit: limit, at: now, using: &random,
            suspending: { push, suspicion in
                state.withLock { $0.suspension(of: push, suspicion, at: elapsed, steadyNow: steadyNow) }
            },
            admitting: { pushes in state.withLock { $0.admitted(pushes, at: elapsed) } })
        plan.doubtful = candidates.filter(isDoubtful)
        let member = dependencies.memberNumber()
        guard try await recordOutcomes(leasing: plan, at: reading.stamp) else {
            return handle(.notLeased(plan.batches.joined().flatMap(\.pushes)))
        }
        metrics.count(plan)
        dependencies.firstAttempts.note(
            plan.expired.map { ($0, .expired) } + plan.unsendable.map { ($0.push, .refused) } + plan.withdrawn.map { ($0, .withdrawn) })
        handle(.posting(plan.batches.map(\.count), targets: plan.batches.joined().flatMap(\.pushes).map(\.targetDigest)))
        for batch in plan.batches {
            group.addTask { await self.post(batch, at: now, leasedAs: member, ending: batch.count) }
        }
    }

    /// - Parameters:
    ///   - member: This server's number before the pushes were leased.
    ///   - requestCount: How many notifications the request had that ends with this part, or nil if further parts follow.
    private func post(_ batch: [DeliveryItem], at now: Timestamp, leasedAs member: Int64, ending requestCount: Int?) async {
        let pushes = batch.flatMap(\.pushes)
        let postedAt = dependencies.time.now
        func attempts(_ outcomes: [AttemptOutcome]) -> [PushAttempt] {
            let answeredAt = dependencies.time.now
            return zip(pushes, outcomes).map { .init(push: $0, outcome: $1, at: now, postedAt: postedAt, answeredAt: answeredAt) }
        }
        func notSent(_ reason: PushReason) -> [PushAttempt] { attempts(pushes.map { _ in .notSent(reason: reason) }) }
        guard dependencies.mayPost(member) else {
            // Another server may have taken the pushes over, so this server must not send a request.
            return completeRequest(requestCount, with: .notPosted(notSent(.leaseEnded)))
        }
        let first = dependencies.configuration.timeout
        let (timeout, deliveryCount) = state.withLock { ($0.timeouts.limit(for: pushes, first: first), $0.evidence.deliveryCount) }
        let start = dependencies.time.elapsed()
        let answer = await gorush.post(batch.map(\.notification), timeout: timeout)
        metrics.answered(answer, after: dependencies.time.elapsed() - start)
        let reading = state.withLock { state in
            ResponseInterpretation(
                answer, batch: batch, retriesItself: state.profile.instance?.retriesItself ?? false, timeouts: state.timeouts,
                routeDelivered: state.evidence.deliveryCount > deliveryCount)
        }
        switch reading {
        case .outcomes(let outcomes, let health):
            completeRequest(requestCount, with: .answered(health, attempts(outcomes), jitter: jitter()))
        case .divide:
            let parts = planner.divide(batch, at: now) ?? []
            for part in parts.dropLast() { await post(part, at: now, leasedAs: member, ending: nil) }
            guard let last = parts.last else { return completeRequest(requestCount) }
            await post(last, at: now, leasedAs: member, ending: requestCount)
        case .limit(let limit):
            logger.notice("gorush takes fewer notifications at a time", metadata: ["limit": "\(limit)"])
            completeRequest(requestCount, with: .limited(limit, notSent(.overLimit)))
        }
    }

    /// Handles a request's end. The next leases record its outcomes.
    private func completeRequest(_ requestCount: Int?, with event: RouteState.Event? = nil) {
        let now = dependencies.time.elapsed()
        let mustWake = state.withLock { state in
            if let event { state.handle(event, at: now) }
            if let requestCount { state.handle(.ended(requestCount), at: now) }
            return state.mustWake(at: now)
        }
        log(at: now)
        if mustWake { changed.notify() }
    }

    /// Records attempts' outcomes, together with the next plan.
    ///
    /// - Returns: False if a push in the plan has finished since it was read. The route then doesn't post any of them.
    @discardableResult
    private func recordOutcomes(leasing plan: DeliveryPlan? = nil, at now: Timestamp? = nil) async throws -> Bool {
        let attempts = state.withLock { state in
            defer { state.unrecordedOutcomes = [] }
            return state.unrecordedOutcomes
        }
        guard plan != nil || !attempts.isEmpty else { return true }
        do {
            return try await write(attempts, leasing: plan ?? DeliveryPlan(), at: now)
        } catch {
            // The outcomes stay in memory until a later transaction records them.
            state.withLock { $0.unrecordedOutcomes += attempts }
            throw error
        }
    }

    @discardableResult
    private func write(
        _ attempts: [PushAttempt], leasing plan: DeliveryPlan = DeliveryPlan(), at now: Timestamp? = nil
    ) async throws -> Bool {
        let recorded = try await dependencies.outbox.recordOutcomes(
            attempts, leasing: plan, in: context(at: now, judging: attempts), jitter: jitter)
        handle(.recorded(recorded.decisions, attempts))
        if !recorded.savedTopics.isEmpty { handle(.topicsSaved(Set(recorded.savedTopics))) }
        metrics.count(zip(attempts, recorded.decisions), at: dependencies.wallClock.now())
        let ends = zip(attempts, recorded.decisions).compactMap { attempt, decision in
            if case .finish(let outcome) = decision.disposition { (attempt.push, outcome) } else { nil }
        }
        dependencies.firstAttempts.note(ends)
        metrics.unregistered(recorded.unregistered.count)
        if !recorded.unregistered.isEmpty { await dependencies.onUnregistered(recorded.unregistered) }
        if ends.count < attempts.count { handle(.woken) }
        return recorded.isLeased
    }

    /// Retries a write until the database accepts it, or the task is cancelled.
    private func retryingUntilCommitted(_ write: () async throws -> Void) async {
        while true {
            do {
                return try await write()
            } catch {
                handleAndWake(.storeFailed("\(error)"))
                guard await dependencies.time.sleep(for: Schedule.storeRetryInterval) else { return }
            }
        }
    }

    private func context(at now: Timestamp?, judging attempts: [PushAttempt]) -> OutcomeContext {
        let (elapsed, steadyNow) = (dependencies.time.elapsed(), dependencies.time.now)
        let judgesRefusals = attempts.contains(where: \.outcome.isRefusal)
        let (rules, savedTopics) = state.withLock { state in
            (state.rules(at: elapsed, judgingRefusals: judgesRefusals), state.evidence.savedTopics)
        }
        return OutcomeContext(
            route: name, rules: rules, now: now ?? dependencies.wallClock.read().stamp, isHeld: dependencies.wallClock.read().isHeld,
            savedTopics: savedTopics, steadyNow: steadyNow)
    }

    private func jitter() -> Double {
        var random = dependencies.random
        return Double.random(in: 0...1, using: &random)
    }

    // MARK: Status

    var status: RouteStatus {
        let now = dependencies.time.elapsed()
        return state.withLock { RouteStatus($0, at: now) }
    }

    /// The route's state for operators.
    var report: RouteReport {
        let now = dependencies.time.elapsed()
        return state.withLock { RouteReport($0, name: name, platform: platform, gorushURL: gorushURL, at: now) }
    }

    /// Returns the time until which nothing happens without an event, or nil while work is in progress. Times count from when the delivery
    /// was created.
    func idleUntil(at now: Duration) -> Duration? { state.withLock { $0.idleUntil(at: now) } }

    /// Sets the gauges, and counts pushes that found the queue full.
    ///
    /// - Parameter refusedCount: The number of these since the store was opened.
    func refreshMetrics(queuedCount: Int, refusedCount: Int) {
        metrics.set(status, queuedCount: queuedCount)
        let newCount = refusedCount - refused.exchange(refusedCount, ordering: .relaxed)
        metrics.finished(.refused, .queueFull, by: newCount)
        if newCount > 0 { logger.warning("route queue is full; refusing new pushes", metadata: ["pushes": "\(newCount)"]) }
    }

    /// Logs what has changed in the status.
    private func log(at now: Duration) {
        let status = state.withLock { RouteStatus($0, at: now) }
        let lines = log.withLock { log in
            // A condition that has returned is told again after a while, without a change.
            guard status != log.status || !status.conditions.isEmpty || !status.warningConditions.isEmpty else { return [RouteLog.Line]() }
            log.status = status
            return log.lines.lines(for: status, at: now)
        }
        for line in lines {
            switch line {
            case .notDelivered(let reason): logger.warning("pushes are not delivered", metadata: ["reason": "\(reason)"])
            case .deliveredAgain: logger.warning("pushes are delivered again")
            case .attention(let reason): logger.warning("delivery needs attention", metadata: ["reason": "\(reason)"])
            case .outboxUnusable(let error):
                logger.error("the outbox cannot be read or written; pushes wait", metadata: ["error": "\(error)"])
            }
        }
    }
}
