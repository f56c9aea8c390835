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
        var clock: any Clock<Duration>
        var wallClock: WallClock
        var time: SteadyTime
        var random: any RandomNumberGenerator & Sendable
        var logger: Logger
        var firstAttempts: FirstAttemptWaiters
        /// This server's number among the database's servers.
        var memberNumber: @Sendable () -> Int64
        /// Whether this server still owns the pushes that it leased under a number.
        var mayPost: @Sendable (_ memberNumber: Int64) -> Bool
        /// How many servers share gorush, this one included.
        var memberCount: @Sendable () -> Int
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
        gorush = GorushClient(
            http: http, endpoint: endpoint, probeTimeout: configuration.probeTimeout, trustsSyncMode: configuration.trustsSyncMode,
            clock: dependencies.clock)
        planner = BatchPlanner(
            dataFormat: configuration.dataFormat, templates: configuration.templates(of: route), lifetime: configuration.lifetime,
            padPayload: configuration.padPayload)
        metrics = RouteMetrics(route: route.name, platform: route.platform)
        var logger = dependencies.logger
        logger[metadataKey: "route"] = "\(route.name)"
        logger[metadataKey: "gorush"] = "\(endpoint.publicURL)"
        gorushURL = endpoint.publicURL
        self.logger = logger
        var random = dependencies.random
        let state = RouteState(
            route: route, configuration: configuration, routesOfEndpoint: routesOfEndpoint,
            key: UInt64.random(in: 0...(.max), using: &random))
        log = Mutex((RouteStatus(state, at: .zero), RouteLog()))
        self.state = Mutex(state)
    }

    // MARK: Life

    /// Signals that the queue may have new pushes.
    func wake() { handleAndWake(.woken) }

    /// Records bundle ids that were proven in an earlier process.
    func haveWorked(_ topics: Set<String>) { handle(.topicsSaved(topics)) }

    /// Records devices that got a push in an earlier process, with the time by the wall clock.
    func haveGotPushes(_ devices: [RecentDevice]) {
        handle(.restored(devices.map { ($0.device, dependencies.time.elapsed(at: $0.deliveredAt), $0.isSuspected) }))
    }

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
                    case .read(let limits): await reportingStoreFailure { try await read(limits) }
                    case .post: await reportingStoreFailure { try await attemptDue(in: &requests) }
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

    private func read(_ limits: [PushTrust: Int]) async throws {
        let (outbox, time) = (dependencies.outbox, dependencies.time)
        handle(.members(dependencies.memberCount()))
        let now = time.now
        let elapsed = time.elapsed()
        if state.withLock({ $0.mustReread(at: elapsed) }) { outbox.rereadQueues(of: name) }
        do {
            let read = try await outbox.waitingPushes(route: name, at: now, limits: limits)
            handle(.read(read.pushes, leaving: read.unfinishedQueues, next: read.next.map(time.elapsed)))
        } catch {
            // The queues may have gone on, and what was read is lost.
            outbox.rereadQueues(of: name)
            throw error
        }
    }

    private func attemptDue(in group: inout DiscardingTaskGroup) async throws {
        guard dependencies.mayPost(dependencies.memberNumber()) else { return handle(.storeFailed("the lease of this server has ended")) }
        let now = dependencies.time.elapsed()
        let (choices, batch, mustRecord) = state.withLock { state in
            let choices = state.choose(at: now)
            let lookedUp = Set(choices.filter(\.push.isLookUp).map(\.device))
            return (choices, state.batchCount, state.unrecordedOutcomes.contains { lookedUp.contains($0.choice.device) })
        }
        guard !choices.isEmpty else { return }
        do {
            // A look-up has to see what was decided about the device's last push.
            if mustRecord { try await recordOutcomes() }
            try await attempt(choices, batch: batch, in: &group)
        } catch {
            handle(.dropped(choices.map { ($0, .unchanged) }))
            throw error
        }
    }

    /// Posts chosen attempts. If it throws, it has posted none of them.
    private func attempt(_ choices: [AttemptChoice], batch: Int?, in group: inout DiscardingTaskGroup) async throws {
        let time = dependencies.time
        let found = try await dependencies.outbox.pushes(choices.map(\.push), route: name, at: time.now)
        var choiceOfRow: [Int64: AttemptChoice] = [:]
        var pushes: [QueuedPush] = []
        var dropped: [(AttemptChoice, RouteState.DropReason)] = []
        for (choice, found) in zip(choices, found) {
            switch found {
            case .push(let push) where choiceOfRow[push.id] == nil:
                choiceOfRow[push.id] = choice
                pushes.append(push)
            case .push: dropped.append((choice, .unchanged))
            case .later(let next): dropped.append((choice, .nothingDue(until: time.elapsed(at: next))))
            case .nothing: dropped.append((choice, choice.push.isLookUp ? .nothingDue(until: nil) : .ended))
            }
        }
        let reading = dependencies.wallClock.read()
        let now = reading.now
        var random = dependencies.random
        let elapsed = time.elapsed()
        let first = batch == nil ? [] : Set(pushes.filter { choiceOfRow[$0.id]?.kind == .first && $0.attempts == 0 }.map(\.id))
        func isDoubtful(_ push: QueuedPush) -> Bool { reading.age(since: push.acceptedAt, lifetime: planner.lifetime) == .doubtful }
        var plan = planner.plan(
            pushes.filter { !isDoubtful($0) }, sharing: first, batch: batch, at: now, using: &random
        ) { pushes in
            state.withLock { $0.admitted(pushes, at: elapsed) }
        }
        plan.doubtful = pushes.filter(isDoubtful)
        let member = dependencies.memberNumber()
        let posted = plan.batches.joined().flatMap(\.pushes).compactMap { choiceOfRow[$0.id] }
        guard try await recordOutcomes(leasing: plan, at: reading.stamp) else {
            return handle(.dropped(dropped + choiceOfRow.values.map { ($0, .unchanged) }))
        }
        metrics.count(plan)
        dependencies.firstAttempts.note(
            plan.expired.map { ($0, .expired) } + plan.unsendable.map { ($0.push, .refused) } + plan.withdrawn.map { ($0.push, .withdrawn) }
        )
        let ended = Set(posted.map(\.number))
        dropped += choiceOfRow.values.filter { !ended.contains($0.number) }.map { ($0, .ended) }
        handle(.dropped(dropped))
        handle(.posting(posted))
        // They wait for their times now.
        if !plan.deferred.isEmpty || !plan.doubtful.isEmpty { handle(.woken) }
        for batch in plan.batches { group.addTask { [choiceOfRow] in await self.post(batch, choiceOfRow, at: now, leasedAs: member) } }
    }

    /// - Parameter member: This server's number before the pushes were leased.
    private func post(_ batch: [DeliveryItem], _ choices: [Int64: AttemptChoice], at now: Timestamp, leasedAs member: Int64) async {
        let pushes = batch.flatMap(\.pushes)
        let postedAt = dependencies.time.now
        func attempts(_ outcomes: [AttemptOutcome]) -> [PushAttempt] {
            let answeredAt = dependencies.time.now
            return zip(pushes, outcomes).compactMap { push, outcome in
                choices[push.id].map {
                    PushAttempt(
                        choice: $0, push: push, outcome: outcome, isShared: pushes.count > 1, at: now, postedAt: postedAt,
                        answeredAt: answeredAt)
                }
            }
        }
        func notSent(_ reason: PushReason) -> [PushAttempt] { attempts(pushes.map { _ in .notSent(reason: reason) }) }
        guard dependencies.mayPost(member) else {
            // Another server may have taken the pushes over, so this server must not send a request.
            return completeRequest(.notPosted(notSent(.leaseEnded)))
        }
        let start = dependencies.time.elapsed()
        let answer = await gorush.post(
            batch.map(\.notification), timeout: dependencies.configuration.timeout,
            onNewConnection: state.withLock { $0.wantsNewConnection(at: start) && $0.takesNewConnection(at: start) },
            keepingConnectionIf: { answer in !answer.refusesCredentials || !state.withLock { $0.takesNewConnection(at: start) } })
        metrics.answered(answer, after: dependencies.time.elapsed() - start)
        let retriesItself = state.withLock { $0.profile.instance?.retriesItself ?? false }
        switch ResponseInterpretation(answer, batch: batch, retriesItself: retriesItself) {
        case .outcomes(let outcomes, let health):
            completeRequest(.answered(health, attempts(outcomes), jitter: jitter()))
        case .divide:
            for part in planner.divide(batch, at: now) ?? [] { await post(part, choices, at: now, leasedAs: member) }
        case .limit(let limit):
            logger.notice("gorush takes fewer notifications at a time", metadata: ["limit": "\(limit)"])
            completeRequest(.limited(limit, notSent(.overLimit)))
        }
    }

    /// Handles a request's end. The next leases record its outcomes.
    private func completeRequest(_ event: RouteState.Event) {
        let now = dependencies.time.elapsed()
        let mustWake = state.withLock { state in
            state.handle(event, at: now)
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

    private func write(_ attempts: [PushAttempt], leasing plan: DeliveryPlan, at now: Timestamp?) async throws -> Bool {
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
        let steadyNow = dependencies.time.now
        let judgesRefusals = attempts.contains(where: \.outcome.isRefusal)
        let (rules, savedTopics) = state.withLock { state in (state.rules(judgingRefusals: judgesRefusals), state.belief.savedTopics) }
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
    func refreshMetrics(refusedCount: Int) {
        metrics.set(status)
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
