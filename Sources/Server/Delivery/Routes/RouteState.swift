import Bytes
import Envelope
import PushProtocol
import Store
import Tasks
import Wire

/// A route as a value: events go in (``handle(_:at:)``), actions come out (``next(at:)``).
///
/// Four values decide: ``Schedule`` when to act, ``CongestionWindow`` how much may be in flight, ``GorushProfile`` what gorush is set up
/// for, and ``Evidence`` whether the route delivers. Times are monotonic and count from the delivery's start.
struct RouteState: Sendable {
    enum Event: Sendable, Equatable {
        /// The queue may have new pushes.
        case woken
        /// A shutdown has begun.
        case stopping
        /// Requests go out, with these numbers of notifications and to these devices. More pushes may be due.
        case posting([Int], targets: [Digest32] = [])
        /// These pushes were planned, and a push that has finished since kept the store from leasing them.
        case notLeased([QueuedPush])
        /// No push is due before that time. Nil means that the queue is empty.
        case nothingDue(until: Duration?)
        /// The outbox could not be read or written.
        case storeFailed(String)
        /// gorush responded or did not, with these outcomes. The jitter, from 0 to 1, varies the delay before the next request.
        case answered(RouteHealth, [PushAttempt], jitter: Double)
        /// gorush accepts at most that number of notifications in a request. The attempts never began.
        case limited(Int, [PushAttempt])
        /// Not posted, because this server's lease has expired.
        case notPosted([PushAttempt])
        /// A request with that number of notifications has ended.
        case ended(Int)
        /// gorush responded to a probe, or did not.
        case probed(GorushClient.Probe)
        /// The outcomes of attempts are recorded, with these decisions.
        case recorded([PushDecision], [PushAttempt])
        /// The store knows that a push was delivered to these bundle ids.
        case topicsSaved(Set<String>)
        /// These devices got a push in an earlier process.
        case restored([Installation: Duration])
        /// Waiting pushes up to that row are due. Nil means that there are no more.
        case retriedNow(upTo: Int64?)
    }

    enum Action: Sendable, Equatable {
        /// Ask gorush for its configuration, while everything else goes on.
        case probe
        /// Finish pushes that are older than their lifetime.
        case expire
        /// Post due pushes in at most `requests` requests of `batchSize` notifications (nil: a single notification with a single token),
        /// recording pending outcomes in the same transaction.
        case postDue(requests: Int, batchSize: Int?)
        /// Record pending outcomes.
        case recordOutcomes
        /// Make waiting pushes after that row due.
        case retryNow(after: Int64)
        /// Do nothing before that time unless an event comes.
        case wait(until: Duration)
        /// Return from `run`.
        case stop
    }

    let route: DeliveryConfiguration.Route
    private let configuration: DeliveryConfiguration
    private var schedule = Schedule()
    private(set) var congestion: CongestionWindow
    private(set) var profile: GorushProfile
    private(set) var evidence: Evidence
    private(set) var breaker = Breaker()
    private var unprovenBudget = UnprovenBundleIDBudget()
    private(set) var timeouts = TimeoutPolicy()
    /// The attempts whose outcomes are not recorded yet.
    var unrecordedOutcomes: [PushAttempt] = []
    /// Why gorush didn't accept a request, or nil if it did.
    private(set) var issue: String?
    private(set) var storeIssue: String?

    init(route: DeliveryConfiguration.Route, configuration: DeliveryConfiguration, routesOfEndpoint: Int) {
        self.route = route
        self.configuration = configuration
        congestion = CongestionWindow(configuration: configuration)
        profile = GorushProfile(route: route, configuration: configuration, routesOfEndpoint: routesOfEndpoint)
        evidence = Evidence(platform: route.platform, configuredTopics: configuration.knownBundleIDs(of: route))
    }

    // MARK: Actions

    /// Returns the next action. The route calls this function after each action, and after each event during a wait.
    mutating func next(at now: Duration) -> Action {
        let action = decide(at: now)
        schedule.wait(until: action.end)
        return action
    }

    private mutating func decide(at now: Duration) -> Action {
        if schedule.isStopping {
            guard congestion.requestsInFlight > 0 || !unrecordedOutcomes.isEmpty else { return .stop }
            if let rest = schedule.storeRest(at: now) { return .wait(until: rest) }
            return rest(until: now + Schedule.longestPause)
        }
        if schedule.mustProbe(at: now) { return .probe }
        let pause = [schedule.pause(at: now), evidence.nextChange(after: now)].compactMap(\.self).min() ?? now
        // gorush's configuration decides about the very first request.
        guard profile.wasProbed else { return .wait(until: pause) }
        if let rest = schedule.storeRest(at: now) { return .wait(until: min(pause, rest)) }
        if let row = schedule.rowToRetryNow(at: now) {
            // Pending outcomes with the same reason are recorded first, so that their pushes become due, too.
            return unrecordedOutcomes.isEmpty ? .retryNow(after: row) : .recordOutcomes
        }
        if schedule.mustExpire(at: now) { return .expire }
        guard profile.configurationFault == nil, profile.isCurrent else { return rest(until: pause) }
        guard schedule.mayRead(at: now) else { return rest(until: pause) }
        let requests = requestCapacity(at: now)
        guard requests > 0 else {
            // When the breaker's delay ends, there is no event, unlike when a request ends.
            guard let attempt = breaker.nextAttempt, attempt > now else { return rest(until: pause) }
            return rest(until: min(pause, attempt))
        }
        if let end = schedule.gathering(for: requests, of: congestion.window, at: now) { return .wait(until: min(pause, end)) }
        schedule.read(requests)
        return .postDue(requests: requests, batchSize: batchCount)
    }

    /// Returns a wait. Until it ends, no push is posted, so pending outcomes are recorded first instead of with the next leases.
    private func rest(until end: Duration) -> Action { unrecordedOutcomes.isEmpty ? .wait(until: end) : .recordOutcomes }

    /// Returns the number of requests that may be posted now. A failing route posts a single request at a time.
    func requestCapacity(at now: Duration) -> Int {
        let limit = evidence.fails(at: now) ? max(0, 1 - congestion.requestsInFlight) : .max
        return min(congestion.capacity(batch: batchCount, profile: profile), breaker.permits(at: now), limit)
    }

    /// Returns the due pushes that may be attempted, in the order of attempts. While the route fails, devices that have worked and not
    /// failed since come first, and others after the delay.
    func candidates(among due: [QueuedPush], at now: Duration) -> [QueuedPush] {
        guard evidence.fails(at: now) else { return due }
        let proven = due.filter { $0.provenAt != nil }
        let fresh = proven.filter { !evidence.failure.hasFailed($0.targetDigest) }
        guard fresh.isEmpty else { return fresh }
        guard evidence.failure.nextAttempt(at: now) == nil else { return [] }
        return proven + due.filter { $0.provenAt == nil }
    }

    /// Returns how long a push to a suspected device has to wait, or nil if it may be attempted now.
    func suspension(of push: QueuedPush, _ suspicion: Suspicion, at now: Duration, steadyNow: Timestamp) -> Duration? {
        if evidence.inFlight.contains(push.targetDigest) { return suspicion.nextDelay }
        if evidence.fails(at: now) || evidence.releasedAt.map({ suspicion.refusedAt <= $0 }) ?? false { return nil }
        return suspicion.rest(at: steadyNow)
    }

    /// The number of notifications in a request. Nil means a single notification with a single token.
    private var batchCount: Int? {
        configuration.batchMode == .batch ? congestion.batch(workers: profile.workerShare) : nil
    }

    /// Returns the rows of the pushes that may be attempted now. Attempts with unproven bundle ids spend their budget.
    mutating func admitted(_ pushes: [QueuedPush], at now: Duration) -> Set<Int64> {
        Set(pushes.filter { admits($0, at: now) }.map(\.id))
    }

    private mutating func admits(_ push: QueuedPush, at now: Duration) -> Bool {
        // The operator configures the gateways' bundle ids.
        guard push.push.tokenType == .apn, push.notification == nil, !evidence.isKnown(push.push.apnTopic) else { return true }
        return unprovenBudget.take(push, at: now)
    }

    /// The rules for attempts that ended.
    ///
    /// - Parameter judgesRefusals: Whether the rules need the witnesses.
    func rules(at now: Duration, judgingRefusals judgesRefusals: Bool) -> OutcomeRules {
        let fails = evidence.fails(at: now)
        let isBelieved = !fails && !evidence.mixed.isMixed(at: now) && !profile.contradictsEnvironment
        return OutcomeRules(
            routeFails: fails,
            refusals: RefusalRules(witnesses: judgesRefusals ? evidence.witnesses : Witnesses(), believesVerdicts: isBelieved),
            deliveredBundleIDs: evidence.deliveredBundleIDs)
    }

    // MARK: Conclusions

    /// Returns the reasons why gorush itself doesn't take pushes.
    func gorushIssues(at now: Duration) -> [RouteCondition] {
        // A probe, Apple and Google give more exact reasons than a request. Anyone can register a device on a platform that this server
        // does not serve, so a disabled platform is only a warning.
        let reason = profile.issue ?? (profile.isDisabled || evidence.fails(at: now) ? nil : issue)
        return [reason, profile.configurationFault].compactMap { $0.map { RouteCondition(kind: .gorush($0), text: $0) } }
    }

    /// Returns the reasons why Apple or Google delivers nothing, or nothing for a bundle id.
    func providerIssues(at now: Duration) -> [RouteCondition] {
        (profile.issue == nil ? [evidence.issue(at: now)].compactMap(\.self) : []) + evidence.topicIssues(at: now)
    }

    /// Returns the conditions that may lose or delay pushes, in words for an operator.
    func warnings(at now: Duration) -> [RouteCondition] {
        profile.warnings.map { RouteCondition(kind: .setting($0), text: $0) } + [evidence.warning(at: now)].compactMap(\.self)
    }

    /// Returns the time until which nothing happens without an event, or nil while work is in progress.
    func idleUntil(at now: Duration) -> Duration? {
        guard schedule.waitEnd != nil, congestion.requestsInFlight == 0, !schedule.isProbing else { return nil }
        var copy = self
        return copy.decide(at: now).end
    }

    /// Whether an action is due before the wait that ``next(at:)`` decided is over, or no request is in flight any more. A task that does
    /// not wait calls ``next(at:)`` anyway.
    func mustWake(at now: Duration) -> Bool {
        guard let waitEnd = schedule.waitEnd else { return false }
        guard congestion.requestsInFlight > 0 else { return true }
        var copy = self
        return copy.decide(at: now).end.map { $0 < waitEnd } ?? true
    }

    // MARK: Events

    mutating func handle(_ event: Event, at now: Duration) {
        switch event {
        case .woken: schedule.wake()
        case .stopping: schedule.stop()
        case .posting(let batches, let targets):
            storeIssue = nil
            for target in targets { evidence.posted(to: target) }
            profile.used()
            schedule.posted(batches.count, at: now)
            for _ in batches { breaker.begin() }
            congestion.posted(batches)
        case .notLeased(let pushes):
            for push in pushes { unprovenBudget.ended(push, isRefused: false) }
            schedule.wake()
        case .nothingDue(let until):
            storeIssue = nil
            schedule.nothingDue(until: until, at: now)
            if until != nil { profile.used() }
            // No push is left, so the timeouts of pushes that expired between two attempts can be forgotten.
            if until == nil, congestion.requestsInFlight == 0, unrecordedOutcomes.isEmpty { timeouts = TimeoutPolicy() }
            // No push is left that could show whether the route works again.
            if breaker.state != .closed { schedule.probe(by: now + Schedule.searchInterval) }
        case .storeFailed(let error):
            storeIssue = error
            schedule.storeFailed(at: now)
        case .answered(let health, let attempts, let jitter):
            answered(health, attempts, jitter: jitter, at: now)
        case .limited(let limit, let attempts):
            congestion.limitBatch(to: limit)
            _ = record(attempts, at: now)
            works(at: now)
        case .notPosted(let attempts):
            _ = record(attempts, at: now)
            if case .trial = breaker.state { breaker.fail(at: now, retryAfter: nil, jitter: 0, isCounted: false) }
            schedule.storeFailed(at: now)
        case .ended(let count):
            congestion.ended(count)
            // The queue shows whether a push still waits once none is in flight.
            if congestion.requestsInFlight == 0 { schedule.wake() }
        case .probed(let probe): probed(probe, at: now)
        case .recorded(let decisions, let attempts):
            for (decision, attempt) in zip(decisions, attempts) { evidence.decided(decision, about: attempt, at: now) }
        case .topicsSaved(let topics): evidence.saved(topics)
        case .restored(let devices): evidence.restore(devices)
        case .retriedNow(let row): schedule.retriedNow(upTo: row, at: now)
        }
    }

    private mutating func answered(_ health: RouteHealth, _ attempts: [PushAttempt], jitter: Double, at now: Duration) {
        let deliveryCount = evidence.deliveryCount
        if record(attempts, at: now) { schedule.retryNow(at: now) }
        switch health {
        case .healthy:
            congestion.succeeded()
            works(at: now)
            if evidence.deliveryCount == deliveryCount { evidence.responded(jitter: jitter, at: now) }
        case .failing(let issue, let retryAfter):
            congestion.failed()
            breaker.fail(at: now, retryAfter: retryAfter, jitter: jitter)
            self.issue = issue
            evidence.gorushFailed(at: now)
            profile.connectionBroke()
            schedule.probe(by: now)
        }
    }

    /// - Returns: Whether waiting pushes are due.
    private mutating func record(_ attempts: [PushAttempt], at now: Duration) -> Bool {
        var mustRetryNow = false
        for var attempt in attempts {
            timeouts.record(attempt)
            unprovenBudget.ended(attempt.push, isRefused: attempt.outcome.isRejection)
            if evidence.record(&attempt, at: now) { mustRetryNow = true }
            unrecordedOutcomes.append(attempt)
        }
        return mustRetryNow
    }

    private mutating func works(at now: Duration) {
        profile.worked()
        breaker.succeed()
        if breaker.state == .closed { issue = nil }
    }

    private mutating func probed(_ probe: GorushClient.Probe, at now: Duration) {
        profile.probed(probe)
        // If a push waits, its attempt decides instead of the probe, even if it isn't due yet.
        if profile.issue == nil, schedule.isEmpty, case .open(let until, _) = breaker.state, until <= now {
            breaker.reset()
            issue = nil
        }
        if case .instance(let instance) = probe {
            let configured = configuration.maximumNotificationsPerRequest
            congestion.resetBatch(to: min(configured, instance.maximumNotificationCount ?? .max))
        }
        let isFine = profile.issue == nil && issue == nil && profile.configurationFault == nil
        schedule.probed(isFine: isFine, at: now)
    }
}

extension RouteState.Action {
    /// When a wait ends, or nil for anything else.
    fileprivate var end: Duration? { if case .wait(let end) = self { end } else { nil } }
}
