import Bytes
import DequeModule
import Envelope
import PushProtocol
import Store
import Tasks
import Wire

/// A route as a value: events go in (``handle(_:at:)``), actions come out (``next(at:)``).
///
/// ``WaitingDevices`` knows whose turn it is, ``Bulkhead``, ``RetryBudget`` and ``CircuitBreaker`` how much may be in flight,
/// ``GorushProfile`` what gorush is set up for, ``Belief`` what the answers show, and ``Schedule`` when to look. Times are monotonic and
/// count from the delivery's start.
struct RouteState: Sendable {
    enum Event: Sendable {
        /// The queues may have new pushes.
        case woken
        /// A shutdown has begun.
        case stopping
        /// These pushes were read from the queues, of which some have more. The next push that waits for its time is due then.
        case read([WaitingPush], leaving: Set<PushTrust> = [], next: Duration?)
        /// Chosen attempts that are not made.
        case dropped([(AttemptChoice, DropReason)])
        /// These attempts are posted now.
        case posting([AttemptChoice])
        /// The outbox could not be read or written.
        case storeFailed(String)
        /// Attempts have ended. Each jitter is from 0 to 1 and varies the delay before the next attempt.
        case answered(RouteHealth, [PushAttempt], jitter: Double)
        /// gorush accepts at most that number of notifications in a request. The attempts never began.
        case limited(Int, [PushAttempt])
        /// Not posted, because this server's lease has expired.
        case notPosted([PushAttempt])
        /// gorush responded to a probe, or did not.
        case probed(GorushClient.Probe)
        /// The outcomes of attempts are recorded, with these decisions.
        case recorded([PushDecision], [PushAttempt])
        /// The store knows that a push was delivered to these bundle ids.
        case topicsSaved(Set<String>)
        /// These devices got a push in an earlier process.
        case restored([(device: DeviceCode, deliveredAt: Duration, isSuspected: Bool)])
        /// The number of servers that share gorush.
        case members(Int)
    }

    /// Why a chosen attempt is not made.
    enum DropReason: Sendable, Equatable {
        /// The push has ended, or waits for another reason.
        case ended
        /// The device has no push that may be attempted now. The next may be at that time, or nil if none waits.
        case nothingDue(until: Duration?)
        /// The push is as before.
        case unchanged
    }

    enum Action: Sendable, Equatable {
        /// Ask gorush for its configuration, while everything else goes on.
        case probe
        /// Finish pushes that are older than their lifetime.
        case expire
        /// Read the queues, up to that many pushes of each.
        case read([PushTrust: Int])
        /// Post the attempts that ``choose(at:)`` returns, recording pending outcomes in the same transaction.
        case post
        /// Record pending outcomes.
        case recordOutcomes
        /// Do nothing before that time unless an event comes.
        case wait(until: Duration)
        /// Return from `run`.
        case stop
    }

    /// The time that a push waits after its first attempt without an answer. gorush may work on it for as long (GORUSH.md §2.5).
    static let unansweredDelay = Duration.seconds(150)
    /// A push is retried so soon if gorush did not take it, while that is not yet a pause of the route.
    private static let untakenDelay = Duration.milliseconds(500)
    /// The least wait of a device after words about a quota.
    private static let quotaDelay = Duration.seconds(60)
    /// A second call to a device may be another caller's.
    private static let callsPerDevice = 2
    /// Pushes that are remembered as in trouble.
    private static let maximumPushCount = 100_000
    /// How long a paused route is called away only after.
    static let awayInterval = Duration.seconds(5)
    /// The troubled devices are counted again after that time.
    private static let countInterval = Duration.seconds(5)

    /// Between two times at which the queues are read again from their starts.
    private static let rereadInterval = Duration.seconds(600)

    /// What a push has met, whatever its device did.
    private struct PushTrouble: Sendable {
        /// When its first refusal came, or nil if there was none.
        var since: Duration?
        /// The number of attempts without an answer.
        var unansweredCount = 0
    }

    let route: DeliveryConfiguration.Route
    private let configuration: DeliveryConfiguration
    private var schedule = Schedule()
    private(set) var devices = WaitingDevices()
    private var calls = Deque<WaitingPush>()
    private(set) var bulkhead: Bulkhead
    private var budget = RetryBudget()
    /// For connections that are opened although others are idle: a connection that nobody uses stays open for two minutes.
    private var newConnections = RetryBudget()
    private(set) var breaker = CircuitBreaker()
    private(set) var profile: GorushProfile
    private(set) var belief: Belief
    private var unprovenBudget = UnprovenBundleIDBudget()
    private var pushes: [Int64: PushTrouble] = [:]
    private var lastNumber = 0
    /// The attempts that are chosen or posted and have not ended, calls included.
    private(set) var inFlight: Set<Int> = []
    private var memberCount = 1
    private var troubled: (count: Int, at: Duration) = (0, .zero)
    private var rereadAt = Duration.zero
    /// The attempts whose outcomes are not recorded yet.
    var unrecordedOutcomes: [PushAttempt] = []
    /// Why gorush didn't accept a request, or nil if it did.
    private(set) var issue: String?
    private(set) var storeIssue: String?

    /// - Parameter key: A random number, by which the recent devices are sampled.
    init(route: DeliveryConfiguration.Route, configuration: DeliveryConfiguration, routesOfEndpoint: Int, key: UInt64 = 0) {
        self.route = route
        self.configuration = configuration
        profile = GorushProfile(route: route, configuration: configuration, routesOfEndpoint: routesOfEndpoint)
        belief = Belief(platform: route.platform, configuredTopics: configuration.knownBundleIDs(of: route), key: key)
        bulkhead = Bulkhead(workerCount: profile.workerShare(members: 1))
    }

    // MARK: Actions

    /// Returns the next action. The route calls this function after each action, and after each event during a wait.
    mutating func next(at now: Duration) -> Action {
        let action = decide(at: now)
        schedule.decided(waitingUntil: action.end, isRead: action.isRead)
        return action
    }

    private mutating func decide(at now: Duration) -> Action {
        if schedule.isStopping {
            guard !inFlight.isEmpty || !unrecordedOutcomes.isEmpty else { return .stop }
            if let rest = schedule.storeRest(at: now) { return .wait(until: rest) }
            return rest(until: now + Schedule.longestPause)
        }
        if schedule.mustProbe(at: now) { return .probe }
        var pause = [schedule.pause(at: now), belief.nextChange(after: now)].compactMap(\.self).min() ?? now
        // gorush's configuration decides about the very first request.
        guard profile.wasProbed else { return .wait(until: pause) }
        if let rest = schedule.storeRest(at: now) { return .wait(until: min(pause, rest)) }
        if schedule.mustExpire(at: now) { return .expire }
        let room = bulkhead.room(at: now)
        let limits = readLimits(at: now)
        // A long queue is read beside the attempts.
        if !limits.isEmpty, !(schedule.hasJustRead && profile.mayPost && turn(at: now, room).isSomebodys) {
            schedule.read(limits.keys)
            return .read(limits)
        }
        guard profile.mayPost else { return rest(until: pause) }
        if let end = schedule.gathering(freeCount: bulkhead.workerCount - bulkhead.count, of: bulkhead.workerCount, at: now) {
            return .wait(until: min(pause, end))
        }
        if let time = devices.nextTime {
            if time <= now { return .post }
            pause = min(pause, time)
        }
        switch turn(at: now, room) {
        case .call, .line: return .post
        case .none(let until): return rest(until: min(pause, until ?? pause))
        }
    }

    /// Returns a wait. Until it ends, no push is posted, so pending outcomes are recorded first instead of with the next leases.
    private func rest(until end: Duration) -> Action { unrecordedOutcomes.isEmpty ? .wait(until: end) : .recordOutcomes }

    /// How many pushes to read of each queue: enough to know the next devices of every line, however many pushes wait before them.
    private func readLimits(at now: Duration) -> [PushTrust: Int] {
        let wanted = max(32, bulkhead.workerCount)
        var limits: [PushTrust: Int] = [:]
        for queue in schedule.queuesToRead(at: now) {
            if let line = Line(first: queue), devices.lines.count(of: line) >= wanted { continue }
            limits[queue] = 4 * wanted
        }
        return limits
    }

    /// Whether the queues are to be read again from their starts. They may have passed a push that nobody looks at any more: that of a
    /// forgotten device, of a row that another session held, or of a server of another version that has moved it.
    mutating func mustReread(at now: Duration) -> Bool {
        guard now - rereadAt >= Self.rereadInterval else { return false }
        rereadAt = now
        return true
    }

    // MARK: Whose turn it is

    private enum Turn {
        case call(Int)
        case line(Line)
        /// Nobody's before that time, or before an event.
        case none(until: Duration?)

        var isSomebodys: Bool { if case .none = self { false } else { true } }
    }

    private func turn(at now: Duration, _ room: Bulkhead.Room) -> Turn {
        let permission = breaker.permission(at: now)
        if case .wait(let until) = permission { return .none(until: until) }
        let isTrial = permission == .trial
        let call = calls.firstIndex { (devices[$0.device]?.callCount ?? 0) < Self.callsPerDevice }
        if let call, inFlight.count < configuration.maximumRequestsInFlight { return .call(call) }
        var end: Duration?
        func wait(until time: Duration?) { if let time { end = min(end ?? time, time) } }
        for line in devices.lines.order {
            if isTrial {
                if !room.isFull { return .line(line) }
            } else if !room.allows(line.attemptClass) {
                wait(until: bulkhead.nextChange(after: now))
            } else if line.isRetry, budget.available(at: now, limit: bulkhead.workerCount) < 1 {
                wait(until: budget.next(at: now, limit: bulkhead.workerCount))
            } else {
                return .line(line)
            }
        }
        return .none(until: end)
    }

    /// Chooses the attempts to make now, and begins them.
    mutating func choose(at now: Duration) -> [AttemptChoice] {
        devices.wake(at: now)
        // Gorush has taken a trial and not answered for a while, so it is there.
        if breaker.pausedSince != nil, breaker.permission(at: now) == .all { breaker.answered() }
        var room = bulkhead.room(at: now)
        var chosen: [AttemptChoice] = []
        while true {
            let isTrial = breaker.permission(at: now) == .trial
            switch turn(at: now, room) {
            case .none: return chosen
            case .call(let index):
                let call = calls.remove(at: index)
                guard devices.beginCall(to: call.device, atMost: Self.callsPerDevice) else { continue }
                chosen.append(begin(call.device, .row(call.id), .call, .proven, at: now))
            case .line(let line):
                guard let (device, push) = devices.takeFirst(of: line) else { continue }
                if line.isRetry, !isTrial { budget.spend(at: now, limit: bulkhead.workerCount) }
                let choice = begin(device, push, line.isRetry ? .retry : .first, line.attemptClass, at: now)
                bulkhead.begin(choice.number, choice.attemptClass, at: now)
                room.use(choice.attemptClass)
                chosen.append(choice)
            }
            if isTrial { return chosen }
        }
    }

    private mutating func begin(
        _ device: DeviceCode, _ push: PushChoice, _ kind: AttemptChoice.Kind, _ attemptClass: AttemptClass, at now: Duration
    ) -> AttemptChoice {
        lastNumber += 1
        inFlight.insert(lastNumber)
        breaker.posted(lastNumber, at: now)
        return AttemptChoice(number: lastNumber, device: device, push: push, kind: kind, attemptClass: attemptClass)
    }

    /// The number of notifications in a request. Nil means a single notification with a single token.
    var batchCount: Int? {
        guard configuration.batchMode == .batch else { return nil }
        return min(profile.maximumNotificationCount, bulkhead.workerCount)
    }

    /// Returns the rows of the pushes that may be attempted now. Attempts with unproven bundle ids spend their budget.
    mutating func admitted(_ pushes: [QueuedPush], at now: Duration) -> Set<Int64> {
        Set(pushes.filter { admits($0, at: now) }.map(\.id))
    }

    private mutating func admits(_ push: QueuedPush, at now: Duration) -> Bool {
        // The operator configures the gateways' bundle ids.
        guard push.push.tokenType == .apn, push.notification == nil, !belief.isKnown(push.push.apnTopic) else { return true }
        return unprovenBudget.take(push, at: now)
    }

    /// Whether an attempt is made over a new connection: after a minute without a delivery, another gorush may be behind the address.
    func wantsNewConnection(at now: Duration) -> Bool {
        belief.failureCount > 0 && now - (belief.lastDeliveryTime ?? .zero) >= Belief.interval
    }

    /// Takes a new connection from its budget.
    ///
    /// - Returns: False if the attempt has to do with the connections that exist.
    mutating func takesNewConnection(at now: Duration) -> Bool {
        guard newConnections.available(at: now, limit: bulkhead.workerCount) >= 1 else { return false }
        newConnections.spend(at: now, limit: bulkhead.workerCount)
        return true
    }

    /// The rules for attempts that ended.
    ///
    /// - Parameter judgesRefusals: Whether the rules need the witnesses.
    func rules(judgingRefusals judgesRefusals: Bool) -> OutcomeRules {
        OutcomeRules(
            refusals: RefusalRules(
                witnesses: judgesRefusals ? belief.witnesses : Witnesses(),
                believesVerdicts: !belief.isInDoubt && !profile.contradictsEnvironment))
    }

    // MARK: Conclusions

    /// Returns the reasons why gorush itself doesn't take pushes.
    func gorushIssues(at now: Duration) -> [RouteCondition] {
        // A probe, Apple and Google give more exact reasons than a request.
        let isAway = breaker.pausedSince.map { now - $0 >= Self.awayInterval } ?? false
        let reason = profile.issue(hasProvenDevices: hasWaitingProvenDevices) ?? (isAway ? issue : nil)
        return [reason].compactMap { $0.map { RouteCondition(kind: .gorush($0), text: $0) } }
    }

    private var hasWaitingProvenDevices: Bool { devices.lines.count(of: .proven) + devices.lines.count(of: .again) > 0 }

    /// Returns the reasons why Apple or Google delivers nothing, or nothing for a bundle id.
    func providerIssues(at now: Duration) -> [RouteCondition] { profile.isUsable ? belief.issues(at: now) : [] }

    /// Returns the conditions that may lose or delay pushes, in words for an operator.
    func warnings(at now: Duration) -> [RouteCondition] {
        profile.warnings.map { RouteCondition(kind: .setting($0), text: $0) } + belief.warnings(at: now, troubledCount: troubled.count)
    }

    /// Returns the time until which nothing happens without an event, or nil while work is in progress.
    func idleUntil(at now: Duration) -> Duration? {
        guard schedule.waitEnd != nil, inFlight.isEmpty, !schedule.isProbing else { return nil }
        var copy = self
        return copy.decide(at: now).end
    }

    /// Whether an action is due before the wait that ``next(at:)`` decided is over, or no request is in flight any more. A task that does
    /// not wait calls ``next(at:)`` anyway.
    func mustWake(at now: Duration) -> Bool {
        guard let waitEnd = schedule.waitEnd else { return false }
        guard !inFlight.isEmpty else { return true }
        var copy = self
        return copy.decide(at: now).end.map { $0 < waitEnd } ?? true
    }

    // MARK: Events

    mutating func handle(_ event: Event, at now: Duration) {
        switch event {
        case .woken: schedule.wake()
        case .stopping: schedule.stop()
        case .read(let pushes, let queues, let next):
            storeIssue = nil
            for push in pushes {
                if push.trust != .call {
                    devices.add(push, at: now)
                } else if !calls.contains(where: { $0.id == push.id }) {
                    calls.append(push)
                }
            }
            if !pushes.isEmpty { profile.used() }
            schedule.hasRead(leaving: queues, next: next, at: now)
            // No push is left that could show whether gorush is back.
            if breaker.pausedSince != nil { schedule.probe(by: now + Schedule.searchInterval) }
        case .dropped(let choices): for (choice, reason) in choices { drop(choice, reason, at: now) }
        case .posting(let choices):
            storeIssue = nil
            for choice in choices where choice.kind != .call { bulkhead.begin(choice.number, choice.attemptClass, at: now) }
            for choice in choices { breaker.posted(choice.number, at: now) }
            schedule.posted(isFull: bulkhead.room(at: now).isFull, at: now)
        case .storeFailed(let error):
            storeIssue = error
            schedule.storeFailed(at: now)
        case .answered(let health, let attempts, let jitter):
            note(health, of: attempts, at: now)
            for attempt in attempts { record(attempt, jitter: jitter, at: now) }
            countTroubled(at: now)
        case .limited(let limit, let attempts):
            profile.limitBatch(to: limit)
            breaker.answered()
            for attempt in attempts { record(attempt, jitter: 0, at: now) }
        case .notPosted(let attempts):
            for attempt in attempts { record(attempt, jitter: 0, at: now) }
            schedule.storeFailed(at: now)
        case .probed(let probe): probed(probe, at: now)
        case .recorded(let decisions, let attempts):
            for (decision, attempt) in zip(decisions, attempts) { recorded(decision, attempt, at: now) }
        case .topicsSaved(let topics):
            belief.saved(topics)
            // Pushes that waited for the budget of unproven bundle ids have entered a round.
            schedule.wake()
        case .restored(let devices): belief.restore(devices)
        case .members(let count):
            memberCount = count
            bulkhead.workerCount = profile.workerShare(members: count)
        }
    }

    private mutating func note(_ health: RouteHealth, of attempts: [PushAttempt], at now: Duration) {
        switch health {
        case .answered, .busy:
            profile.worked()
            breaker.answered()
            issue = nil
            if case .busy(let status) = health, let attempt = attempts.first {
                belief.wasTurnedAway(attempt, status: status, at: now)
            } else {
                belief.wasTaken()
            }
        case .silent: break
        case .broken:
            profile.connectionBroke()
            schedule.probe(by: now)
        case .away(let issue):
            breaker.refused(at: now)
            self.issue = issue
            profile.connectionBroke()
            schedule.probe(by: now)
        }
    }

    /// Ends an attempt that was not made.
    private mutating func drop(_ choice: AttemptChoice, _ reason: DropReason, at now: Duration) {
        end(choice)
        updateDevice(of: choice, at: now) { device in
            switch reason {
            case .ended: break
            case .nothingDue(nil): device.hasMore = false
            case .nothingDue(let time?): device.notBefore = time
            case .unchanged: device.hasMore = true
            }
        }
        if choice.kind == .call, reason == .unchanged, case .row(let id) = choice.push { putBack(id, to: choice.device) }
    }

    /// Puts a call back that was not posted. Its queue has passed it.
    private mutating func putBack(_ call: Int64, to device: DeviceCode) {
        guard !calls.contains(where: { $0.id == call }) else { return }
        calls.prepend(WaitingPush(id: call, device: device, trust: .call))
    }

    private mutating func end(_ choice: AttemptChoice) {
        inFlight.remove(choice.number)
        bulkhead.end(choice.number)
        breaker.ended(choice.number)
    }

    /// Changes a device whose attempt has ended.
    private mutating func updateDevice(of choice: AttemptChoice, at now: Duration, _ change: (inout WaitingDevice) -> Void) {
        let isActive = devices.update(choice.device, at: now) { device in
            if choice.kind == .call { device.callCount -= 1 } else { device.isBusy = false }
            change(&device)
        }
        if !isActive { belief.forget(choice.device) }
    }

    /// Records an attempt that has ended, and decides how long its device and its push wait.
    private mutating func record(_ ended: PushAttempt, jitter: Double, at now: Duration) {
        var attempt = ended
        let (choice, id) = (attempt.choice, attempt.push.id)
        end(choice)
        unprovenBudget.ended(attempt.push, isRefused: attempt.outcome.isRejection)
        func delay(since: Duration) -> Duration { ProportionalBackOff.delay(ofTroubleOf: now - since, jitter: jitter) }
        var trouble = pushes[id] ?? PushTrouble()
        switch attempt.outcome {
        case .sent:
            delivered(attempt, at: now)
        case .notSent:
            let delay = breaker.pausedSince == nil ? Self.untakenDelay : .zero
            updateDevice(of: choice, at: now) { device in
                device.hasMore = true
                device.notBefore = now + delay
            }
        case .failed(let failure) where attempt.outcome.isPushRefusal:
            trouble.since = trouble.since ?? now
            attempt.ownDelay =
                failure.kind == .tooLong && attempt.push.mayBeShortened ? .zero : delay(since: trouble.since ?? now)
            // The token may be good. The payload may have been looked at first, so a suspicion stays.
            updateDevice(of: choice, at: now) { device in
                if choice.kind != .call { device.trouble = nil }
                device.hasMore = true
            }
        case .unknown:
            attempt.ownDelay = Self.unansweredDelay * (1 << min(trouble.unansweredCount, 10))
            trouble.unansweredCount += 1
            fail(attempt, jitter: jitter, at: now)
        case .passing(_, let retryAfter):
            trouble.since = trouble.since ?? now
            let least = retryAfter ?? .zero
            attempt.ownDelay = max(least, delay(since: trouble.since ?? now))
            fail(attempt, least: least, jitter: jitter, at: now)
        case .failed(let failure):
            if failure.kind == .transient {
                trouble.since = trouble.since ?? now
                attempt.ownDelay = delay(since: trouble.since ?? now)
            }
            let isQuota = [.quota, .deviceQuota].contains(failure.kind)
            fail(attempt, least: isQuota ? Self.quotaDelay : .zero, jitter: jitter, at: now)
        }
        if choice.kind == .call { attempt.ownDelay = max(attempt.ownDelay, ProportionalBackOff.shortest) }
        if trouble.since != nil || trouble.unansweredCount > 0 {
            if pushes[id] == nil { forgetOldestPushes() }
            pushes[id] = trouble
        }
        unrecordedOutcomes.append(attempt)
    }

    /// Makes room for another push in trouble. The oldest ones have ended in the meantime, most of them otherwise than by an attempt.
    private mutating func forgetOldestPushes() {
        guard pushes.count >= Self.maximumPushCount else { return }
        for id in pushes.keys.sorted().prefix(Self.maximumPushCount / 10) { pushes[id] = nil }
    }

    private mutating func delivered(_ attempt: PushAttempt, at now: Duration) {
        budget.delivered(at: now, limit: bulkhead.workerCount)
        newConnections.delivered(at: now, limit: bulkhead.workerCount)
        let released = belief.delivered(attempt, at: now)
        updateDevice(of: attempt.choice, at: now) { device in
            device.trouble = nil
            device.trust = .proven
        }
        // The route works again: nobody waits for the rest of a long delay.
        for device in released { devices.update(device, at: now) { $0.trouble?.next = now } }
    }

    /// Records trouble of a device.
    private mutating func fail(_ attempt: PushAttempt, least: Duration = .zero, jitter: Double, at now: Duration) {
        let choice = attempt.choice
        guard choice.kind != .call else { return updateDevice(of: choice, at: now) { _ in } }
        // A batch without an answer says nothing about any of its devices.
        let isDevicesOwn = !attempt.isShared || attempt.outcome.words != nil
        var since = now
        updateDevice(of: choice, at: now) { device in
            device.hasMore = true
            guard isDevicesOwn else { return }
            since = device.trouble?.since ?? now
            let delay = max(attempt.duration, least, ProportionalBackOff.delay(ofTroubleOf: now - since, jitter: jitter))
            device.trouble = .init(since: since, next: now + delay, isSlow: attempt.duration >= Bulkhead.slowDuration)
        }
        if isDevicesOwn { belief.failed(attempt, troubleSince: since, at: now) }
    }

    private mutating func recorded(_ decision: PushDecision, _ attempt: PushAttempt, at now: Duration) {
        guard case .finish(let outcome) = decision.disposition else {
            guard attempt.choice.kind == .call else { return }
            if case .releaseLease = decision.disposition { putBack(attempt.push.id, to: attempt.choice.device) }
            schedule.wake()
            return
        }
        pushes[attempt.push.id] = nil
        let device = attempt.choice.device
        if outcome == .deadToken { belief.forget(device, isDead: true) }
        switch decision.token {
        case .unregister:
            // A look-up finds what waits for the same phone nevertheless: a push that goes to its new token.
            devices.update(device, at: now) { device in
                (device.trouble, device.hasMore, device.pushes) = (nil, true, [])
            }
        case .giveUp:
            devices.update(device, at: now) { device in (device.hasMore, device.pushes) = (false, []) }
            belief.forget(device)
        case .none, .suspect, .works: break
        }
    }

    private mutating func countTroubled(at now: Duration) {
        guard now - troubled.at >= Self.countInterval else { return }
        let count = devices.troubled.count { device in
            device.trust == .proven && device.hasPushes && device.trouble.map { now - $0.since >= Belief.interval } ?? false
        }
        troubled = (count, now)
    }

    private mutating func probed(_ probe: GorushClient.Probe, at now: Duration) {
        profile.probed(probe, at: now)
        bulkhead.workerCount = profile.workerShare(members: memberCount)
        if case .instance = probe, breaker.pausedSince != nil, !hasWaitingDevices {
            // No push waits that could be the trial.
            breaker.answered()
            issue = nil
        }
        let isFine = profile.isUsable && breaker.refusedCount == 0
        schedule.probed(isFine: isFine, at: now)
    }

    private var hasWaitingDevices: Bool { !devices.lines.order.isEmpty || !calls.isEmpty }
}

extension RouteState.Action {
    /// When a wait ends, or nil for anything else.
    fileprivate var end: Duration? { if case .wait(let end) = self { end } else { nil } }
    fileprivate var isRead: Bool { if case .read = self { true } else { false } }
}
