import Envelope
import HTTPClient
import Logging
import PushProtocol
import Store
import Synchronization

/// Delivers the pushes of one route: its own queue in the outbox, connections, breaker and back-off, so that no route's trouble is
/// another's.
final class RouteWorker: Sendable {
    /// What the workers of a delivery have in common.
    struct Surroundings: Sendable {
        var store: PushStore
        var configuration: DeliveryConfiguration
        var clock: any Clock<Duration>
        var wallClock: WallClock
        var steadyTime: SteadyTime
        var random: any RandomNumberGenerator & Sendable
        var logger: Logger
        var onUnregistered: @Sendable ([ChangedRegistration]) async -> Void
        /// Routes that share the gorush of this one, itself included.
        var routesOfEndpoint: Int
    }

    private struct State {
        var breaker = Breaker()
        var wave: WaveDetector
        var requestsInFlight = 0
        var notificationsInFlight = 0
        var maximumNotificationCount: Int
        var instance: GorushInstance?
        var trouble: String?
        /// Nobody answered when gorush was last asked for its configuration.
        var isUnreachable = false
        var storeTrouble: String?
        var isStopping = false
        /// When the queue was last looked through for what is too old.
        var expiredAt: Duration?
        var worker = Rest()
        var prober = Rest()
    }

    /// Until when a task waits for time alone, having looked at all that it was called for.
    private struct Rest {
        private(set) var end: Duration?
        private var isCalled = false

        mutating func call() {
            isCalled = true
            end = nil
        }

        /// Begins to look: calls from here on are new ones.
        mutating func begin() {
            isCalled = false
            end = nil
        }

        mutating func rest(until end: Duration) {
            if !isCalled { self.end = end }
        }
    }

    /// However quiet, a worker looks at its queue so often.
    private static let longestPause = Duration.seconds(30)
    /// Pushes that expire in one transaction: some milliseconds of the writer.
    private static let expiryCount = 1_000
    /// A database that fails is not asked without pause.
    private static let storeRetryInterval = Duration.seconds(1)
    /// What a gorush says of itself changes when it is started anew; that is noticed by its absence, but not always.
    private static let probeInterval = Duration.seconds(300)
    /// One that is not there is looked for more often: an idle server is to be ready when its gorush is.
    private static let searchInterval = BackOff.route.longest

    let route: DeliveryConfiguration.Route
    private let surroundings: Surroundings
    private let http: HTTPClient
    private let gorush: GorushClient
    private let metrics: RouteMetrics
    private let logger: Logger
    private let bell = Bell()
    private let probeBell = Bell()
    private let state: Mutex<State>

    init(route: DeliveryConfiguration.Route, surroundings: Surroundings) {
        self.route = route
        self.surroundings = surroundings
        let configuration = surroundings.configuration
        let endpoint = route.endpoint ?? configuration.endpoint
        // One connection more than pushes need, for the probe.
        http = HTTPClient(
            configuration: .init(
                maximumConnectionsPerHost: configuration.maximumRequestsInFlight + 1,
                certificateAuthorityFile: endpoint.certificateAuthorityFile))
        gorush = GorushClient(
            http: http, configuration: .init(url: endpoint.url, headers: endpoint.headers, timeout: configuration.timeout))
        metrics = RouteMetrics(route: route.name)
        var logger = surroundings.logger
        logger[metadataKey: "route"] = "\(route.name)"
        self.logger = logger
        state = Mutex(
            State(
                wave: WaveDetector(share: configuration.deadTokenWaveShare),
                maximumNotificationCount: configuration.maximumNotificationsPerRequest))
    }

    // MARK: Life

    /// There may be something to do.
    func wake() {
        state.withLock { $0.worker.call() }
        bell.ring()
    }

    /// Takes nothing new; ``run()`` returns when what is under way has ended.
    func stop() {
        state.withLock { $0.isStopping = true }
        wake()
    }

    /// Until when nothing happens if nobody calls, by the clock, since the delivery was made; nil while something is under way.
    var idleUntil: Duration? {
        state.withLock { state in
            guard state.requestsInFlight == 0, let worker = state.worker.end, let prober = state.prober.end else { return nil }
            return min(worker, prober)
        }
    }

    /// Delivers until stopped. A cancellation gives up what is under way: its outcome is unknown then, and written so.
    func run() async {
        await probe()
        // Who keeps probing may have begun to wait for long before that was known.
        if state.withLock(\.isUnreachable) { wakeProber() }
        await withDiscardingTaskGroup { group in
            while !Task.isCancelled, !state.withLock(\.isStopping) {
                let pause: Duration
                state.withLock { $0.worker.begin() }
                do {
                    pause = try await round(in: &group)
                    note(storeTrouble: nil)
                } catch {
                    note(storeTrouble: "\(error)")
                    pause = Self.storeRetryInterval
                }
                await rest(\.worker, for: pause, unless: bell)
            }
        }
        http.shutdown()
    }

    /// Asks gorush now and then how it is set up; ends when cancelled.
    func keepProbing() async {
        while !Task.isCancelled {
            let interval = state.withLock(\.isUnreachable) ? Self.searchInterval : Self.probeInterval
            await rest(\.prober, for: interval, unless: probeBell)
            guard !Task.isCancelled else { return }
            state.withLock { $0.prober.begin() }
            await probe()
        }
    }

    /// Returns when there was a call, the time is over, or the task is cancelled. A ring of the bell that was heeded before is none.
    private func rest(_ rest: WritableKeyPath<State, Rest>, for pause: Duration, unless bell: Bell) async {
        var elapsed = surroundings.steadyTime.elapsed()
        let end = elapsed + pause
        state.withLock { $0[keyPath: rest].rest(until: end) }
        repeat {
            await bell.wait(atMost: end - elapsed, clock: surroundings.clock)
            elapsed = surroundings.steadyTime.elapsed()
        } while !Task.isCancelled && elapsed < end && state.withLock { $0[keyPath: rest].end != nil }
    }

    private func wakeProber() {
        state.withLock { $0.prober.call() }
        probeBell.ring()
    }

    private func probe() async {
        let probe = await gorush.probe()
        let wasUnreachable = state.withLock { state in
            defer { state.isUnreachable = probe == .unreachable }
            return state.isUnreachable
        }
        if probe == .unreachable, !wasUnreachable { logger.warning("gorush is not reachable; pushes wait") }
        guard case .instance(let instance) = probe else { return }
        let previous = state.withLock { state in
            defer {
                state.instance = instance
                state.maximumNotificationCount = min(
                    surroundings.configuration.maximumNotificationsPerRequest, instance.maximumNotificationCount ?? .max)
            }
            return state.instance
        }
        guard instance != previous else { return }
        for warning in warnings(of: instance) {
            logger.warning("gorush is set up so that pushes get lost", metadata: ["reason": "\(warning)"])
        }
    }

    // MARK: One round

    /// Posts what is due, as far as the route takes it now.
    ///
    /// - Returns: how long nothing happens if nobody calls.
    private func round(in group: inout DiscardingTaskGroup) async throws -> Duration {
        try await expire()
        let elapsed = surroundings.steadyTime.elapsed()
        let (room, batchCount, nextAttempt) = state.withLock { state in
            (requestRoom(state, at: elapsed), self.batchCount(state), state.breaker.nextAttempt)
        }
        guard room > 0 else {
            // Full, or a trial is under way: its end rings the bell.
            guard let nextAttempt, nextAttempt > elapsed else { return Self.longestPause }
            return min(nextAttempt - elapsed, Self.longestPause)
        }
        let due = try await surroundings.store.duePushes(
            route: route.name, at: surroundings.steadyTime.now, limit: room * (batchCount ?? 1))
        guard !due.isEmpty else {
            guard let next = try await surroundings.store.nextAttempt(route: route.name) else { return Self.longestPause }
            let nanoseconds = next.nanoseconds - surroundings.steadyTime.now.nanoseconds
            return min(.nanoseconds(max(nanoseconds, 0)), Self.longestPause)
        }
        // A push that was given back while this was read is due because its route has failed: then nothing goes out.
        guard state.withLock({ requestRoom($0, at: elapsed) }) >= room else { return .zero }
        var random = surroundings.random
        let now = surroundings.wallClock.now()
        let plan = planner(batchCount: batchCount).plan(due, at: now, using: &random)
        for batch in try await lease(plan, at: now) {
            begin(batch)
            group.addTask {
                await self.deliver(batch, attemptedAt: now)
                self.end(batch)
            }
        }
        // There may be more than was read.
        return .zero
    }

    /// Ends what is too old to wake anybody, also while the route takes nothing.
    private func expire() async throws {
        let elapsed = surroundings.steadyTime.elapsed()
        guard state.withLock(\.expiredAt).map({ elapsed - $0 >= Self.longestPause }) ?? true else { return }
        let now = surroundings.wallClock.now()
        let oldest = now.advanced(by: .zero - surroundings.configuration.lifetime)
        var expiredCount = 0
        repeat {
            expiredCount = try await surroundings.store.expirePushes(
                route: route.name, acceptedBefore: oldest, limit: Self.expiryCount, at: now)
            metrics.finished(.expired, reason: "lifetime", by: expiredCount)
        } while expiredCount == Self.expiryCount
        state.withLock { $0.expiredAt = elapsed }
    }

    /// Requests that may go out now.
    private func requestRoom(_ state: State, at elapsed: Duration) -> Int {
        let configuration = surroundings.configuration
        let queueCount = state.instance?.queueCount ?? GorushInstance.defaultQueueCount
        // Half of gorush's queue: others may use it too.
        let maximumInFlight = min(configuration.maximumNotificationsInFlight, max(1, queueCount / 2 / surroundings.routesOfEndpoint))
        guard state.notificationsInFlight < maximumInFlight else { return 0 }
        let notifications = max(1, (maximumInFlight - state.notificationsInFlight) / (batchCount(state) ?? 1))
        let requests = max(0, configuration.maximumRequestsInFlight - state.requestsInFlight)
        return min(requests, notifications, state.breaker.permits(at: elapsed))
    }

    private func planner(batchCount: Int?) -> BatchPlanner {
        let configuration = surroundings.configuration
        return BatchPlanner(
            dataFormat: configuration.dataFormat, texts: configuration.texts, lifetime: configuration.lifetime, batchCount: batchCount)
    }

    /// Notifications in a request; nil: one, with one token.
    private func batchCount(_ state: State) -> Int? {
        switch surroundings.configuration.batchMode {
        case .single: nil
        case .batch: state.maximumNotificationCount
        case .automatic: state.instance?.isSync == false ? state.maximumNotificationCount : nil
        }
    }

    /// Ends what cannot be sent, and marks the rest as under way, in one transaction.
    private func lease(_ plan: DeliveryPlan, at now: Timestamp) async throws -> [[DeliveryItem]] {
        try await surroundings.store.commit { transaction in
            try transaction.finish(plan.expired.map(\.id), as: .expired, reason: "lifetime", at: now)
            for (push, obstacle) in plan.unsendable {
                try transaction.finish([push.id], as: .refused, reason: obstacle.rawValue, at: now)
            }
            // Nobody else touches this queue: what was read is what is leased.
            guard try transaction.lease(plan.attempts, at: now) == plan.attempts.count else { throw StoreError.damaged }
        }
        metrics.finished(.expired, reason: "lifetime", by: plan.expired.count)
        for (_, obstacle) in plan.unsendable { metrics.finished(.refused, reason: obstacle.rawValue) }
        return plan.batches
    }

    private func begin(_ batch: [DeliveryItem]) {
        state.withLock { state in
            state.breaker.begin()
            state.requestsInFlight += 1
            state.notificationsInFlight += batch.count
        }
    }

    private func end(_ batch: [DeliveryItem]) {
        state.withLock { state in
            state.requestsInFlight -= 1
            state.notificationsInFlight -= batch.count
            state.worker.call()
        }
        bell.ring()
    }

    // MARK: One request

    private func deliver(_ batch: [DeliveryItem], attemptedAt: Timestamp) async {
        let answer = await gorush.post(batch.map(\.notification))
        metrics.answered(answer)
        let (retriesItself, isSync) = state.withLock { ($0.instance?.retriesItself ?? false, $0.instance?.isSync == true) }
        switch AnswerReading(answer, batch: batch, retriesItself: retriesItself) {
        case .fates(let fates, let news):
            note(news)
            let attempts = zip(batch.flatMap(\.pushes), fates).map { OutcomeWriter.Attempt(push: $0, fate: $1) }
            await write(attempts, attemptedAt: attemptedAt, successIsProof: isSync)
        case .divide:
            for half in planner(batchCount: batch.count).divide(batch, at: attemptedAt) ?? [] {
                await deliver(half, attemptedAt: attemptedAt)
            }
        case .limit(let limit):
            note(.works)
            state.withLock { $0.maximumNotificationCount = min($0.maximumNotificationCount, limit) }
            logger.notice("gorush takes fewer notifications at a time", metadata: ["limit": "\(limit)"])
            let attempts = batch.flatMap(\.pushes).map { OutcomeWriter.Attempt(push: $0, fate: .notSent(reason: "over limit")) }
            await write(attempts, attemptedAt: attemptedAt, successIsProof: isSync)
        }
    }

    /// Writes the outcome. What gorush said must not be forgotten: a database that fails is tried until it takes it.
    private func write(_ attempts: [OutcomeWriter.Attempt], attemptedAt: Timestamp, successIsProof: Bool) async {
        let isWave = judge(attempts.map(\.fate))
        while true {
            do {
                let writer = OutcomeWriter(
                    route: route.name,
                    rules: OutcomeRules(isWave: isWave, successIsProof: successIsProof, now: surroundings.wallClock.now()),
                    attemptedAt: attemptedAt, steadyNow: surroundings.steadyTime.now, random: surroundings.random)
                let written = try await surroundings.store.commit { try writer.write(attempts, in: $0) }
                metrics.count(written.decisions)
                if !written.buried.isEmpty { await surroundings.onUnregistered(written.buried) }
                return
            } catch {
                note(storeTrouble: "\(error)")
                guard (try? await surroundings.clock.sleep(for: Self.storeRetryInterval)) != nil else { return }
            }
        }
    }

    /// - Returns: whether these verdicts are part of a wave.
    private func judge(_ fates: [PushFate]) -> Bool {
        record(total: fates.count(where: \.isVerdict), turnedDown: fates.count(where: \.turnsDown))
    }

    private func record(total: Int, turnedDown: Int) -> Bool {
        let elapsed = surroundings.steadyTime.elapsed()
        let (before, isWave) = state.withLock { state in
            let before = state.wave.isWave(at: elapsed)
            if total > 0 || turnedDown > 0 { state.wave.record(total: total, turnedDown: turnedDown, at: elapsed) }
            return (before, state.wave.isWave(at: elapsed))
        }
        if isWave, !before { logger.error("so many pushes are turned down that it cannot be the devices: none is unregistered now") }
        return isWave
    }

    // MARK: Feedback

    /// Takes a failure that gorush reports later: of all that it can mean, only what it means for the device is acted on.
    func takeFeedback(_ failure: GorushFailure, on push: PushStore.AttemptedPush, token: String) async throws {
        let fate = PushFate.failed(FailureTaxonomy.classify(failure.error))
        let isSync = state.withLock { $0.instance?.isSync == true }
        // In sync mode the answer has said the same before.
        let isWave = record(total: 0, turnedDown: !isSync && fate.turnsDown ? 1 : 0)
        let writer = OutcomeWriter(
            route: route.name, rules: OutcomeRules(isWave: isWave, successIsProof: false, now: surroundings.wallClock.now()),
            attemptedAt: push.attemptedAt, steadyNow: surroundings.steadyTime.now, random: surroundings.random)
        let buried = try await surroundings.store.commit { try writer.writeFeedback(fate, token: token, type: push.tokenType, in: $0) }
        if case .failed(let failure) = fate { metrics.feedback(failure) }
        if !buried.isEmpty { await surroundings.onUnregistered(buried) }
    }

    // MARK: What an operator sees

    private func note(_ news: RouteNews) {
        let elapsed = surroundings.steadyTime.elapsed()
        var random = surroundings.random
        let (before, now) = state.withLock { state in
            let before = state.trouble
            switch news {
            case .works:
                state.isUnreachable = false
                state.breaker.succeed()
                if state.breaker.state == .closed { state.trouble = nil }
            case .fails(let trouble, let retryAfter):
                state.breaker.fail(at: elapsed, retryAfter: retryAfter, using: &random)
                state.trouble = trouble
            }
            return (before, state.trouble)
        }
        guard before != now else { return }
        if let now {
            logger.warning("pushes are not delivered", metadata: ["reason": "\(now)"])
        } else {
            logger.notice("pushes are delivered again")
            wakeProber()
        }
    }

    private func note(storeTrouble: String?) {
        let before = state.withLock { state in
            defer { state.storeTrouble = storeTrouble }
            return state.storeTrouble
        }
        guard before != storeTrouble, let storeTrouble else { return }
        logger.error("the outbox cannot be read or written; pushes wait", metadata: ["error": "\(storeTrouble)"])
    }

    /// Why pushes of this route are not delivered; empty when they are.
    var troubles: [String] {
        let elapsed = surroundings.steadyTime.elapsed()
        let (trouble, storeTrouble, isWave) = state.withLock { state in
            (
                state.trouble ?? (state.isUnreachable ? "gorush is not reachable" : nil), state.storeTrouble,
                state.wave.isWave(at: elapsed)
            )
        }
        let reasons = [
            trouble, storeTrouble.map { "the outbox cannot be used: \($0)" },
            isWave ? "so many pushes are turned down that it cannot be the devices" : nil,
        ]
        return reasons.compactMap { $0.map { "delivery \(route.name): \($0)" } }
    }

    /// What will lose pushes though all seems well.
    var warnings: [String] {
        state.withLock(\.instance).map { warnings(of: $0).map { "delivery \(route.name): \($0)" } } ?? []
    }

    private func warnings(of instance: GorushInstance) -> [String] {
        switch route.pushes {
        case .apnTopics, .platform(.ios): instance.warnings(servesIOS: true, servesAndroid: false)
        case .platform(.android): instance.warnings(servesIOS: false, servesAndroid: true)
        }
    }

    /// Sets the gauges.
    func refreshMetrics(queuedCount: Int) {
        let elapsed = surroundings.steadyTime.elapsed()
        let (isOpen, inFlight, isWave) = state.withLock {
            ($0.breaker.state != .closed, $0.notificationsInFlight, $0.wave.isWave(at: elapsed))
        }
        metrics.set(isBreakerOpen: isOpen, notificationsInFlight: inFlight, queuedCount: queuedCount, isWave: isWave)
    }
}
