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
        /// Whether this server still owns the pushes that it read under a number.
        var mayPost: @Sendable (_ memberNumber: Int64) -> Bool
        /// How many servers share gorush, this one included.
        var memberCount: @Sendable () -> Int
        var onUnregistered: @Sendable ([ChangedRegistration]) async -> Void
    }

    let name: String
    /// The URL of the route's gorush, for operators.
    let gorushURL: String
    private let state: Mutex<RouteState>
    private let log = Mutex(RouteLog())
    private let changed = Notify()
    /// The number of pushes that found the queue full, when it was last read.
    private let refused = Atomic<Int>(0)
    /// The number of devices that only a reading of all has found, when it was last counted.
    private let missed = Atomic<Int>(0)
    private let dependencies: Dependencies
    private let planner: BatchPlanner
    private let http: HTTPClient
    private let gorush: GorushClient
    private let metrics: RouteMetrics
    private let logger: Logger

    /// - Parameter routesOfEndpoint: How many routes share its gorush, itself included.
    init(_ route: DeliveryConfiguration.Route, routesOfEndpoint: Int, dependencies: Dependencies) {
        name = route.name
        self.dependencies = dependencies
        let configuration = dependencies.configuration
        let endpoint = configuration.endpoint(of: route)
        http = HTTPClient(
            configuration: .init(
                maximumConnectionsPerHost: configuration.connectionCount,
                certificateAuthorityFile: endpoint.certificateAuthorityFile))
        gorush = GorushClient(
            http: http, endpoint: endpoint, probeTimeout: configuration.probeTimeout, trustsSyncMode: configuration.trustsSyncMode,
            clock: dependencies.clock)
        planner = BatchPlanner(
            shapes: NotificationShapes(configuration.dataFormat, configuration.templates(of: route)), lifetime: configuration.lifetime,
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
        self.state = Mutex(state)
    }

    // MARK: Life

    /// Looks at what there is to do.
    func wake() { changed.notify() }

    /// Adds what the store has queued.
    func told(_ arrivals: Arrivals) {
        let wall = dependencies.wallClock.now()
        change(wakes: true) { state, now in
            state.told(arrivals, elapsed: dependencies.time.elapsed, age: { max(.zero, $0.acceptedAt.duration(to: wall)) }, at: now)
        }
    }

    /// Records bundle ids that were proven in an earlier process.
    func haveWorked(_ topics: Set<String>) { change { state, _ in state.saved(topics) } }

    /// Records what earlier processes have met: devices that got a push, with the time by the wall clock, and devices with pushes whose
    /// attempts got no answer.
    func restore(recent devices: [RecentDevice], uncertain: [DeviceCode]) {
        change { state, now in
            state.restore(recent: devices.map { ($0.device, dependencies.time.elapsed(at: $0.deliveredAt), $0.isSuspected) }, at: now)
            state.restore(uncertain: uncertain)
        }
    }

    /// Records whether the database has a hold of the route.
    ///
    /// - Returns: Whether the hold is over.
    func held(_ hold: RouteHold?) async throws -> Bool {
        let (reading, now) = (dependencies.wallClock.read(), dependencies.time.elapsed())
        let times = [reading.now, reading.expected ?? reading.now].sorted()
        let longest = dependencies.configuration.lifetime / 2
        let end = now + (hold?.rest(from: times[0], to: times[1], longest: longest) ?? .zero)
        let isFull = hold == nil ? false : try await dependencies.outbox.isQueueNearlyFull(of: name, at: reading.stamp)
        return change(wakes: true) { state, _ in state.held(hold, until: end, isQueueNearlyFull: isFull, at: now) }
    }

    /// Records that the outbox could not be taken over from the previous process.
    func takeOverFailed(_ error: String) { change { $0.storeFailed(error, in: .reading, at: $1) } }

    /// Stops the route: it doesn't post further pushes, and ``run()`` returns when the requests in flight have ended.
    func stop() { change(wakes: true) { state, _ in state.stop() } }

    /// Delivers until stopped. A cancellation cancels the attempts in flight, and the route records their outcome as unknown.
    func run() async {
        await withDiscardingTaskGroup { probes in
            await withDiscardingTaskGroup { group in
                while !Task.isCancelled {
                    let action = change { state, now in
                        state.joined(as: dependencies.memberNumber(), of: dependencies.memberCount(), at: now)
                        return state.next(at: now)
                    }
                    switch action {
                    case .probe: probes.addTask { await self.probe() }
                    case .expire: group.addTask { await self.expire() }
                    case .read(let page): group.addTask { await self.read(page) }
                    case .bringForward: group.addTask { await self.bringForward() }
                    case .mark(let rows): group.addTask { await self.mark(rows) }
                    case .record: group.addTask { await self.record() }
                    case .post: await attemptDue(in: &group)
                    case .wait(let until): await dependencies.time.wait(for: changed, until: until)
                    case .stop: return
                    }
                }
            }
            // A probe's result no longer matters.
            probes.cancelAll()
        }
        // Cancelled attempts have outcomes, too.
        while !state.withLock({ $0.outcomes.waiting.isEmpty }) {
            if await !record() { guard await dependencies.time.sleep(for: Schedule.storeRetryInterval) else { break } }
        }
        http.shutdown()
    }

    /// Changes the state, and logs what has changed in the status.
    ///
    /// - Parameter wakes: Whether ``run()`` may wait, and has to look again.
    private func change<Result>(wakes: Bool = false, _ change: (inout RouteState, Duration) -> Result) -> Result {
        let now = dependencies.time.elapsed()
        let (result, isBusy) = state.withLock { (change(&$0, now), $0.isBusy) }
        log(isBusy: isBusy, at: now)
        if wakes { changed.notify() }
        return result
    }

    // MARK: Work beside the attempts

    private func probe() async {
        let probe = await gorush.probe()
        if !Task.isCancelled { change(wakes: true) { $0.probed(probe, at: $1) } }
    }

    /// Does a kind of work with the store, and records its end.
    private func perform(_ work: Schedule.Work, _ body: () async throws -> Void) async {
        do {
            try await body()
            change(wakes: true) { state, _ in state.ended(work) }
        } catch {
            change(wakes: true) { state, now in
                state.ended(work)
                state.storeFailed("\(error)", in: work, at: now)
            }
        }
    }

    private func expire() async {
        await perform(.expiry) {
            let outbox = dependencies.outbox
            let elapsed = dependencies.time.elapsed()
            let reading = dependencies.wallClock.read()
            while true {
                let calls = state.withLock { $0.endedCalls(at: elapsed) }
                guard !calls.isEmpty else { break }
                var update = OutboxUpdate()
                update.pushes = calls.map { .init(id: $0, .finish(.expired), reason: .lifetime) }
                _ = try await outbox.update(update, at: reading.stamp)
                change { state, _ in state.finishedCalls(calls.count) }
                metrics.finished(.expired, .expired, by: calls.count)
            }
            guard !reading.isHeld else { return }
            let now = reading.now
            // An attempt in flight ends before: what is too old is not looked up.
            let oldest = now.advanced(by: .zero - dependencies.configuration.lifetime - UncertainAttempts.interval)
            let oldestCall = now.advanced(by: .zero - WaitingCalls.lifetime * 2)
            let count = try await outbox.expireAllPushes(route: name, acceptedBefore: oldest, callsBefore: oldestCall, at: now)
            metrics.finished(.expired, .expired, by: count)
            if count > 0 { change { state, _ in state.expired() } }
        }
    }

    private func read(_ page: Schedule.Page) async {
        await perform(.reading) {
            var devices: [DeviceCode] = []
            if page.trust == .call {
                let calls = try await dependencies.outbox.waitingCalls(route: name, limit: RouteState.maximumRememberedCount)
                if !calls.isEmpty { told(Arrivals(calls: calls)) }
            } else {
                devices = try await dependencies.outbox.waitingDevices(
                    route: name, trust: page.trust, after: page.last, limit: Schedule.Page.count)
            }
            change { $0.read(page, devices, at: $1) }
        }
    }

    /// How many pushes are brought forward in one transaction.
    private static let broughtForwardCount = 1_000

    private func bringForward() async {
        await perform(.bringingForward) {
            let count = try await dependencies.outbox.bringForward(
                route: name, limit: Self.broughtForwardCount, at: dependencies.time.now)
            change { $0.broughtForward(isComplete: count < Self.broughtForwardCount, at: $1) }
        }
    }

    private func mark(_ rows: [Int64]) async {
        await perform(.marking) {
            do {
                _ = try await dependencies.outbox.mark(rows, until: dependencies.time.now.advanced(by: UncertainAttempts.interval))
            } catch {
                change { state, _ in state.notMarked(rows) }
                throw error
            }
        }
    }

    /// Records the outcomes of attempts.
    ///
    /// - Returns: False if the database has not accepted them. They stay in memory then.
    @discardableResult
    private func record() async -> Bool {
        let start = dependencies.time.elapsed()
        let (attempts, locked) = state.withLock { $0.takeOutcomes(at: start) }
        do {
            let recorded = try await dependencies.outbox.recordOutcomes(attempts, withLocked: locked, in: context(judging: attempts))
            change(wakes: true) { state, now in
                if !recorded.savedTopics.isEmpty { state.saved(Set(recorded.savedTopics)) }
                state.recorded(recorded.decisions, of: attempts, as: recorded.changes, exceptLocked: recorded.locked, at: now)
            }
            metrics.count(zip(attempts, recorded.decisions), at: dependencies.wallClock.now())
            dependencies.firstAttempts.note(
                zip(attempts, recorded.decisions).compactMap { attempt, decision in
                    if case .finish(let outcome) = decision.disposition { (attempt.push, outcome) } else { nil }
                })
            metrics.unregistered(recorded.unregistered.count)
            if !recorded.unregistered.isEmpty {
                log.withLock { $0.unregistered(recorded.unregistered.count, at: dependencies.time.elapsed()) }
                await dependencies.onUnregistered(recorded.unregistered)
            }
            return true
        } catch {
            change(wakes: true) { $0.recordingFailed("\(error)", at: $1) }
            return false
        }
    }

    // MARK: Attempts

    /// A push that was found for a choice.
    private typealias Chosen = (choice: AttemptChoice, push: QueuedPush)

    /// Chooses, reads and posts.
    private func attemptDue(in group: inout DiscardingTaskGroup) async {
        // Before the read: what is read later belongs to this number.
        let member = dependencies.memberNumber()
        guard dependencies.mayPost(member) else {
            // The cluster tells of its lease.
            return change { $0.notPosted([], at: $1) }
        }
        let now = dependencies.time.elapsed()
        let (choices, lookUps) = state.withLock { state in
            let choices = state.choose(at: now)
            return (choices, choices.map { state.lookUp($0) })
        }
        guard !choices.isEmpty else { return }
        let found: [FoundPush]
        do {
            let reading = dependencies.wallClock.read()
            // By a time in doubt nothing is too old.
            let oldest = reading.isHeld ? Timestamp(nanoseconds: 0) : reading.now.advanced(by: .zero - dependencies.configuration.lifetime)
            found = try await dependencies.outbox.pushes(lookUps, route: name, acceptedSince: oldest, at: dependencies.time.now)
        } catch {
            return change { state, now in
                state.drop(choices.map { ($0, .unchanged) }, at: now)
                state.storeFailed("\(error)", in: .lookUp, at: now)
            }
        }
        let chosen = admit(zip(choices, found))
        let marked = chosen.filter(\.push.isMarkedFirst)
        if !marked.isEmpty { group.addTask { await self.attemptMarked(marked, as: member) } }
        let (batches, left) = plan(chosen.filter { !$0.push.isMarkedFirst }, areMarked: false)
        if !left.isEmpty { group.addTask { await self.finish(left) } }
        for batch in batches { group.addTask { await self.post(batch, as: member) } }
    }

    /// Drops the choices whose pushes are not attempted now.
    private func admit(_ found: some Sequence<(AttemptChoice, FoundPush)>) -> [Chosen] {
        var chosen: [Chosen] = []
        change { state, now in
            state.storeWorked(in: .lookUp)
            for (var choice, found) in found {
                switch found {
                // A call that was not sent, while another session of the database holds its row.
                case .push(let push, _) where choice.kind == .call && state.isAttempted(push): state.lookUpLater([choice], at: now)
                case .push(let push, let others):
                    let others = others.map { max(now, dependencies.time.elapsed(at: $0)) }
                    if state.admit(&choice, push, others: others, at: now) { chosen.append((choice, push)) }
                case .later(let next): state.drop([(choice, .nothing(until: dependencies.time.elapsed(at: next)))], at: now)
                case .moved: state.drop([(choice, .unchanged)], at: now)
                case .locked: state.lookUpLater([choice], at: now)
                case .nothing: state.drop([(choice, .nothing(until: nil))], at: now)
                }
            }
        }
        return chosen
    }

    /// Requests that are posted, with the choices of their pushes.
    private struct Batch {
        var items: [DeliveryItem]
        var choices: [Int64: AttemptChoice]
        /// The time of the attempt by the wall clock.
        var at: Timestamp

        var pushes: [QueuedPush] { items.flatMap(\.pushes) }
    }

    /// Pushes that are not posted, and what becomes of them.
    private struct Left {
        var plan = DeliveryPlan()
        var choices: [Int64: AttemptChoice] = [:]
        var isEmpty: Bool { choices.isEmpty }
    }

    /// Plans the attempts to pushes, and begins them.
    private func plan(_ chosen: [Chosen], areMarked: Bool) -> (batches: [Batch], left: Left) {
        guard !chosen.isEmpty else { return ([], Left()) }
        let choices = Dictionary(chosen.map { ($0.push.id, $0.choice) }) { first, _ in first }
        let pushes = chosen.map(\.push)
        let reading = dependencies.wallClock.read()
        var random = dependencies.random
        let now = dependencies.time.elapsed()
        func isDoubtful(_ push: QueuedPush) -> Bool {
            push.trust != .call && reading.age(since: push.acceptedAt, lifetime: planner.lifetime) == .doubtful
        }
        let (plan, begun) = state.withLock { state in
            let batch = state.batchCount
            let first = batch == nil ? [] : Set(chosen.filter { $0.choice.kind == .first && $0.push.attempts == 0 }.map(\.push.id))
            var plan = planner.plan(
                pushes.filter { !isDoubtful($0) }, sharing: first, batch: batch, at: reading.now, using: &random
            ) { state.admitted($0, at: now) }
            plan.doubtful = pushes.filter(isDoubtful)
            let begun = plan.batches.joined().flatMap(\.pushes)
            state.post(begun.compactMap { push in choices[push.id].map { ($0, push.id, areMarked) } }, at: now)
            return (plan, Set(begun.map(\.id)))
        }
        metrics.count(plan)
        let left = Left(plan: plan, choices: choices.filter { !begun.contains($0.key) })
        return (plan.batches.map { Batch(items: $0, choices: choices, at: reading.now) }, left)
    }

    /// Attempts pushes that are marked before. The mark returns what is stored of them now.
    private func attemptMarked(_ chosen: [Chosen], as member: Int64) async {
        let until = dependencies.time.now.advanced(by: UncertainAttempts.interval)
        do {
            let marked = try await dependencies.outbox.mark(chosen.map(\.push.id), until: until)
            change { state, _ in state.storeWorked(in: .marking) }
            let (batches, left) = plan(
                chosen.compactMap { choice, push in
                    marked[push.id].map { stored in
                        var push = push
                        push.push.content = stored.push.content
                        return (choice, push)
                    }
                }, areMarked: true)
            // The others have ended, or another session of the database holds their rows.
            let others = chosen.filter { marked[$0.push.id] == nil }.map(\.choice)
            change(wakes: true) { $0.lookUpLater(others, at: $1) }
            await withDiscardingTaskGroup { group in
                if !left.isEmpty { group.addTask { await self.finish(left) } }
                for batch in batches { group.addTask { await self.post(batch, as: member) } }
            }
        } catch {
            change(wakes: true) { state, now in
                state.drop(chosen.map { ($0.choice, .unchanged) }, at: now)
                state.storeFailed("\(error)", in: .marking, at: now)
            }
        }
    }

    /// Records what becomes of pushes that are not posted.
    private func finish(_ left: Left) async {
        let plan = left.plan
        do {
            var update = OutboxUpdate()
            update.pushes = plan.changes(in: name, at: dependencies.time.now, jitter: jitter)
            let locked = try await dependencies.outbox.update(update, at: dependencies.wallClock.read().stamp).locked
            dependencies.firstAttempts.note(
                plan.expired.map { ($0, .expired) } + plan.unsendable.map { ($0.push, .refused) }
                    + plan.withdrawn.map { ($0.push, .withdrawn) })
            let changed = left.choices.filter { !locked.contains($0.key) }.values
            change(wakes: true) { state, now in
                state.storeWorked(in: .recording)
                state.drop(changed.map { ($0, $0.kind == .call ? .nothing(until: nil) : .unchanged) }, at: now)
                state.lookUpLater(left.choices.filter { locked.contains($0.key) }.map(\.value), at: now)
            }
        } catch {
            change(wakes: true) { state, now in
                state.drop(left.choices.values.map { ($0, .unchanged) }, at: now)
                state.storeFailed("\(error)", in: .recording, at: now)
            }
        }
    }

    /// - Parameter member: This server's number before the pushes were read.
    private func post(_ batch: Batch, as member: Int64) async {
        let pushes = batch.pushes
        let postedAt = dependencies.time.now
        func attempts(_ outcomes: [AttemptOutcome]) -> [PushAttempt] {
            let answeredAt = dependencies.time.now
            return zip(pushes, outcomes).compactMap { push, outcome in
                batch.choices[push.id].map {
                    PushAttempt(
                        choice: $0, push: push, outcome: outcome, isShared: pushes.count > 1, at: batch.at, postedAt: postedAt,
                        answeredAt: answeredAt)
                }
            }
        }
        func notSent(_ reason: PushReason) -> [PushAttempt] { attempts(pushes.map { _ in .notSent(reason: reason) }) }
        guard dependencies.mayPost(member) else {
            // Another server may have taken the pushes over, so this server must not send a request.
            return completeRequest { $0.notPosted(notSent(.leaseEnded), at: $1) }
        }
        let start = dependencies.time.elapsed()
        let (wantsNewConnection, retriesItself) = state.withLock { state in
            (
                state.wantsNewConnection(at: start) && state.takesNewConnection(at: start),
                state.profile.instance?.retriesItself ?? false
            )
        }
        let answer = await gorush.post(
            batch.items.map(\.notification), timeout: dependencies.configuration.timeout, onNewConnection: wantsNewConnection,
            onFreshConnection: pushes.contains { $0.notification?.isCall ?? false },
            keepingConnectionIf: { answer in !answer.refusesCredentials || !state.withLock { $0.takesNewConnection(at: start) } })
        metrics.answered(answer, after: dependencies.time.elapsed() - start)
        switch ResponseInterpretation(answer, batch: batch.items, retriesItself: retriesItself) {
        case .outcomes(let outcomes, let health):
            let (attempts, jitter) = (attempts(outcomes), jitter())
            let isAwaited = dependencies.firstAttempts.awaits(pushes)
            completeRequest { state, now in
                state.answered(health, attempts, jitter: jitter, at: now)
                if isAwaited { state.hastenOutcomes(at: now) }
            }
        case .divide:
            for items in planner.divide(batch.items, at: batch.at) ?? [] {
                await post(Batch(items: items, choices: batch.choices, at: batch.at), as: member)
            }
        case .limit(let limit):
            logger.notice("gorush takes fewer notifications at a time", metadata: ["limit": "\(limit)"])
            completeRequest { $0.limited(to: limit, notSent(.overLimit), at: $1) }
        }
    }

    /// Records a request's end.
    private func completeRequest(_ complete: (inout RouteState, Duration) -> Void) {
        let mustWake = change { state, now in
            complete(&state, now)
            return state.mustWake(at: now)
        }
        if mustWake { changed.notify() }
    }

    private func context(judging attempts: [PushAttempt]) -> OutcomeContext {
        let judgesRefusals = attempts.contains(where: \.outcome.isRefusal)
        let reading = dependencies.wallClock.read()
        var (rules, savedTopics) = state.withLock { state in (state.rules(judgingRefusals: judgesRefusals), state.belief.savedTopics) }
        rules.mayGiveUp = !reading.isHeld
        return OutcomeContext(route: name, rules: rules, now: reading.stamp, savedTopics: savedTopics)
    }

    private func jitter() -> Double {
        var random = dependencies.random
        return Double.random(in: 0...1, using: &random)
    }

    // MARK: Status

    var report: RouteReport { report(at: dependencies.time.elapsed()) }

    private func report(at now: Duration) -> RouteReport { state.withLock { RouteReport($0, gorushURL: gorushURL, at: now) } }

    /// Returns the time until which nothing happens without an event, or nil while work is in progress. Times count from when the delivery
    /// was created.
    func idleUntil(at now: Duration) -> Duration? { state.withLock { $0.idleUntil(at: now) } }

    /// Sets the gauges, and counts pushes that found the queue full.
    ///
    /// - Parameter refusedCount: The number of these since the store was opened.
    func refreshMetrics(refusedCount: Int) {
        let report = report
        metrics.set(report)
        metrics.missed(report.missedDeviceCount - missed.exchange(report.missedDeviceCount, ordering: .relaxed))
        let newCount = refusedCount - refused.exchange(refusedCount, ordering: .relaxed)
        metrics.finished(.refused, .queueFull, by: newCount)
        if newCount > 0 { logger.warning("route queue is full; refusing new pushes", metadata: ["pushes": "\(newCount)"]) }
    }

    /// - Parameter isBusy: ``RouteState/isBusy``. A busy route's status is looked at now and then.
    private func log(isBusy: Bool, at now: Duration) {
        guard !isBusy || log.withLock({ $0.isDue(at: now) }) else { return }
        let report = report(at: now)
        for line in log.withLock({ $0.lines(for: report, at: now) }) {
            switch line {
            case .notDelivered(let reason): logger.warning("pushes are not delivered", metadata: ["reason": "\(reason)"])
            case .deliveredAgain: logger.warning("pushes are delivered again")
            case .attention(let reason): logger.warning("delivery needs attention", metadata: ["reason": "\(reason)"])
            case .outboxUnusable(let error):
                logger.error("the outbox cannot be read or written; pushes wait", metadata: ["error": "\(error)"])
            case .unregistered(let count):
                logger.notice("registrations have ended, because their device tokens are dead", metadata: ["count": "\(count)"])
            }
        }
    }
}
