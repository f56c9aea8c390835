import Bytes
import DequeModule
import Envelope
import PushProtocol
import Store
import Tasks
import Wire

/// A route as a value: what happens is told by functions, and what to do comes out (``next(at:)``).
///
/// ``Turns`` knows who is next, ``GorushProfile`` what gorush is set up for, ``Belief`` what the answers show, ``UnrecordedOutcomes`` what
/// the database does not know yet, and ``Schedule`` when to look. Times are monotonic and count from the delivery's start.
struct RouteState: Sendable {
    /// A push is retried so soon if gorush did not take it, while that is not yet a pause of the route.
    private static let untakenDelay = Duration.milliseconds(500)
    /// The least wait of a device after words about a quota.
    private static let quotaDelay = Duration.seconds(60)
    /// So many broken connections count as failures of the moment. A proxy that breaks each connection may pass each push on.
    private static let maximumBrokenCount = 2
    /// Pushes that are remembered as in trouble, and devices with pushes whose attempts got no answer.
    static let maximumRememberedCount = 100_000
    /// How long a paused route is called away only after.
    static let awayInterval = Duration.seconds(5)
    /// The troubled devices are counted again after that time.
    private static let countInterval = Duration.seconds(5)

    /// An attempt that is posted.
    private struct Posted: Sendable {
        var row: Int64
        var at: Duration
        var isMarked: Bool
    }

    let route: DeliveryConfiguration.Route
    private let configuration: DeliveryConfiguration
    private var schedule = Schedule()
    private(set) var turns: Turns
    private(set) var profile: GorushProfile
    private(set) var belief: Belief
    private(set) var outcomes = UnrecordedOutcomes()
    private var unprovenBudget = UnprovenBundleIDBudget()
    /// When the first refusal of a push came, whatever its device did.
    private var refusedSince: [Int64: Duration] = [:]
    /// The devices with pushes whose attempts got no answer.
    private var uncertain: Set<DeviceCode> = []
    private var posted: [Int: Posted] = [:]
    private var attempted = AttemptedRows()
    /// Choices whose rows another session of the database has locked, in the order of the times when they are looked up again.
    private var lockedChoices: Deque<(choice: AttemptChoice, until: Duration)> = []
    private(set) var hold = OperatorHold()
    /// This server's number among the database's servers.
    private var memberNumber: Int64?
    private var memberCount = 1
    private(set) var troubled: (count: Int, at: Duration) = (0, .zero)
    /// Why gorush didn't accept a request, or nil if it did.
    private(set) var issue: String?
    /// The work at which the store failed, until the same work is done or outcomes are recorded.
    private var storeFailure: (work: Schedule.Work, error: String)?

    /// - Parameter key: A random number, by which the recent devices are sampled.
    init(route: DeliveryConfiguration.Route, configuration: DeliveryConfiguration, routesOfEndpoint: Int, key: UInt64 = 0) {
        self.route = route
        self.configuration = configuration
        profile = GorushProfile(route: route, configuration: configuration, routesOfEndpoint: routesOfEndpoint)
        belief = Belief(platform: route.platform, configuredTopics: configuration.knownBundleIDs(of: route), key: key)
        turns = Turns(workerCount: profile.workerShare(members: 1))
    }

    // MARK: Actions

    /// Returns the next action. The route calls this function after each action, and after each event during a wait.
    mutating func next(at now: Duration) -> Action {
        let action = decide(at: now)
        switch action {
        case .expire: schedule.begin(.expiry)
        case .read: schedule.begin(.reading)
        case .bringForward: schedule.begin(.bringingForward)
        case .mark(let rows):
            schedule.begin(.marking)
            setMarked(true, rows)
        case .record: schedule.begin(.recording)
        case .probe, .post, .wait, .stop: break
        }
        schedule.decided(waitingUntil: action.end)
        return action
    }

    private mutating func decide(at now: Duration) -> Action {
        while let first = lockedChoices.first, first.until <= now || schedule.isStopping {
            lockedChoices.removeFirst()
            drop([(first.choice, .unchanged)], at: now)
        }
        // A mark must not come after the outcome of its attempt.
        let isRecording = !schedule.running.isDisjoint(with: [.recording, .marking])
        if schedule.isStopping {
            if turns.inFlight.isEmpty, outcomes.isEmpty, schedule.running.isEmpty { return .stop }
            if let rest = schedule.storeRest(at: now) { return .wait(until: rest) }
            if !isRecording, let time = outcomes.nextTime {
                return outcomes.waiting.isEmpty && time > now ? .wait(until: time) : .record
            }
            return .wait(until: now + Schedule.longestPause)
        }
        if schedule.mustProbe(at: now) { return .probe }
        let ends = [
            schedule.pause(at: now), belief.nextChange(after: now), turns.bulkhead.nextChange(after: now), lockedChoices.first?.until,
            hold.end(at: now),
        ]
        var pause = ends.compactMap(\.self).min() ?? now
        // gorush's configuration decides about the very first request.
        guard profile.wasProbed else { return .wait(until: pause) }
        if let rest = schedule.storeRest(at: now) { return .wait(until: min(pause, rest)) }
        // Before the outcomes, of which there may be more at any time.
        let slow = unmarkedSlow(at: now)
        if !slow.isEmpty { return .mark(slow) }
        if !isRecording, let time = outcomes.nextTime {
            if time <= now { return .record }
            pause = min(pause, time)
        }
        if schedule.mustExpire(at: now) { return .expire }
        let hasRoom = turns.devices.hasRoom
        if turns.devices.hasForgotten, hasRoom, schedule.hasReadAll {
            turns.willReadDevices()
            schedule.readAll()
        }
        if let page = schedule.pageToRead(hasRoom: hasRoom, at: now) { return .read(page) }
        if schedule.mustBringForward(at: now) { return .bringForward }
        guard profile.mayPost, !outcomes.areTooMany else { return .wait(until: pause) }
        let workerCount = turns.pushWorkerCount
        if let end = schedule.gathering(freeCount: workerCount - turns.bulkhead.count, of: workerCount, at: now) {
            return .wait(until: min(pause, end))
        }
        if let time = turns.nextTime {
            if time <= now { return .post }
            pause = min(pause, time)
        }
        switch turns.next(isHeld: isHeld(at: now), at: now) {
        case .call, .line: return .post
        case .none(let until): return .wait(until: min(pause, until ?? pause))
        }
    }

    /// The rows of attempts that have taken so long that a crash should not repeat them at once.
    private func unmarkedSlow(at now: Duration) -> [Int64] {
        guard schedule.running.isDisjoint(with: [.recording, .marking]) else { return [] }
        return posted.values.filter { !$0.isMarked && now - $0.at >= Bulkhead.slowDuration }.map(\.row)
    }

    /// Chooses the attempts to make now, and begins them.
    mutating func choose(at now: Duration) -> [AttemptChoice] { turns.choose(isHeld: isHeld(at: now), at: now) }

    /// What to look up for a choice.
    func lookUp(_ choice: AttemptChoice) -> PushChoice {
        choice.row.map(PushChoice.row) ?? .next(of: choice.device, besides: attempted.of(choice.device))
    }

    /// Whether a push is in flight, or its outcome is not recorded.
    func isAttempted(_ push: QueuedPush) -> Bool { attempted.contains(push.id) }

    /// Whether a push that was found may be attempted now.
    mutating func admit(_ choice: inout AttemptChoice, _ push: QueuedPush, others: Duration?, at now: Duration) -> Bool {
        // Its device has changed, or this server has a new number.
        guard !isAttempted(push) else {
            drop([(choice, .nothing(until: now + Schedule.storeRetryInterval))], at: now)
            return false
        }
        if push.provenAt != nil { _ = turns.update(choice.device, at: now) { $0.trust = .proven } }
        return turns.admit(&choice, isTried: push.attempts > 0, others: others, at: now)
    }

    /// The number of notifications in a request. Nil means a single notification with a single token.
    var batchCount: Int? {
        guard configuration.batchMode == .batch else { return nil }
        return min(profile.maximumNotificationCount, turns.bulkhead.workerCount)
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
    mutating func takesNewConnection(at now: Duration) -> Bool { turns.takesNewConnection(at: now) }

    /// The rules for attempts that ended.
    ///
    /// - Parameter judgesRefusals: Whether the rules need the witnesses.
    func rules(judgingRefusals judgesRefusals: Bool) -> OutcomeRules {
        OutcomeRules(
            refusals: RefusalRules(
                witnesses: judgesRefusals ? belief.witnesses : Witnesses(),
                believesVerdicts: !belief.isInDoubt && !profile.contradictsEnvironment))
    }

    // MARK: Waiting

    /// Returns the time until which nothing happens without an event, or nil while work is in progress.
    func idleUntil(at now: Duration) -> Duration? {
        guard schedule.waitEnd != nil, !isPosting, !schedule.isProbing, schedule.running.isEmpty else { return nil }
        var copy = self
        return copy.decide(at: now).end
    }

    /// Whether an action is due before the wait that ``next(at:)`` decided is over, or no request is in flight any more. A task that does
    /// not wait calls ``next(at:)`` anyway.
    func mustWake(at now: Duration) -> Bool {
        guard let waitEnd = schedule.waitEnd else { return false }
        guard isPosting, lockedChoices.first.map({ $0.until > now }) ?? true else { return true }
        var copy = self
        return copy.decide(at: now).end.map { $0 < waitEnd } ?? true
    }

    /// Whether attempts are looked up or posted.
    var isPosting: Bool { turns.inFlight.count > lockedChoices.count }

    /// Whether the route posts and its status hardly changes. A failure of the store may end with the next transaction.
    var isBusy: Bool { isPosting && storeFailure == nil }

    // MARK: What waits

    /// Adds what the store has queued.
    ///
    /// - Parameters:
    ///   - elapsed: Returns how long after the delivery's start a time of ``SteadyTime`` is.
    ///   - age: Returns how long ago a call was accepted.
    mutating func told(_ arrivals: Arrivals, elapsed: (Timestamp) -> Duration, age: (Arrivals.Call) -> Duration, at now: Duration) {
        profile.used()
        turns.told(arrivals, elapsed: elapsed, callsUntil: { now + WaitingCalls.lifetime - age($0) }, at: now)
        // No push is left that could show whether gorush is back.
        if turns.breaker.pausedSince != nil { schedule.probe(by: now + Schedule.searchInterval) }
    }

    /// Adds a page of devices that was read from the table.
    mutating func read(_ page: Schedule.Page, _ devices: [DeviceCode], at now: Duration) {
        if !devices.isEmpty { profile.used() }
        turns.found(devices, trust: page.trust, isNet: page.isNet, at: now)
        schedule.read(page, last: devices.count < Schedule.Page.count ? nil : devices.last, at: now)
    }

    /// Pushes have expired. Without the platform at gorush nobody looks for what is left, so the table is read again.
    mutating func expired() {
        guard profile.isDisabled else { return }
        turns.removeAll()
        schedule.readAll()
    }

    /// Adds devices with pushes whose attempts got no answer, of an earlier process.
    mutating func restore(uncertain devices: [DeviceCode]) { uncertain.formUnion(devices) }

    /// This server has that number, under which it owns pushes. With a new one it has lost those of the old one.
    mutating func joined(as number: Int64, of count: Int, at now: Duration) {
        setMemberCount(count)
        guard memberNumber != number else { return }
        if memberNumber != nil {
            for (choice, _) in lockedChoices { drop([(choice, .nothing(until: nil))], at: now) }
            lockedChoices = []
            turns.removeAll()
            schedule.readAll()
        }
        memberNumber = number
    }

    mutating func setMemberCount(_ count: Int) {
        memberCount = count
        turns.setWorkerCount(profile.workerShare(members: count))
    }

    mutating func stop() { schedule.stop() }

    // MARK: The operator

    /// The database has this hold of the route, or none.
    ///
    /// - Returns: Whether the hold is over, so that the database need not have it any more.
    mutating func held(_ hold: RouteHold?, until end: Duration, isQueueNearlyFull: Bool, at now: Duration) -> Bool {
        self.hold.read(hold, until: end, isQueueNearlyFull: isQueueNearlyFull, at: now)
    }

    private func isHeld(at now: Duration) -> Bool { hold.end(at: now) != nil }

    // MARK: Attempts

    /// Ends attempts that are not made.
    mutating func drop(_ choices: [(choice: AttemptChoice, found: DeviceLookUp)], at now: Duration) {
        for (choice, found) in choices where !turns.drop(choice, found, at: now) { belief.forget(choice.device) }
    }

    /// Looks these up again once another session of the database may have released their rows.
    mutating func lookUpLater(_ choices: [AttemptChoice], at now: Duration) {
        lockedChoices.append(contentsOf: choices.map { ($0, now + Schedule.storeRetryInterval) })
    }

    /// Records that attempts are posted now.
    mutating func post(_ choices: [(choice: AttemptChoice, row: Int64, isMarked: Bool)], at now: Duration) {
        turns.posted(choices.map(\.choice), at: now)
        for (choice, row, isMarked) in choices {
            posted[choice.number] = Posted(row: row, at: now, isMarked: isMarked)
            attempted.insert(row, of: choice.device)
        }
        schedule.posted(isFull: turns.bulkhead.count >= turns.pushWorkerCount, at: now)
    }

    /// Attempts have ended.
    ///
    /// - Parameter jitter: From 0 to 1: it varies the delay before the next attempt.
    mutating func answered(_ health: RouteHealth, _ attempts: [PushAttempt], jitter: Double, at now: Duration) {
        note(health, at: now)
        for attempt in attempts { end(attempt, jitter: jitter, at: now) }
        countTroubled(at: now)
    }

    /// gorush accepts at most that number of notifications in a request. The attempts never began.
    mutating func limited(to limit: Int, _ attempts: [PushAttempt], at now: Duration) {
        profile.limitBatch(to: limit)
        turns.gorushAnswered()
        for attempt in attempts { end(attempt, jitter: 0, at: now) }
    }

    /// Attempts were not posted, because this server's lease has expired.
    mutating func notPosted(_ attempts: [PushAttempt], at now: Duration) {
        for attempt in attempts { end(attempt, jitter: 0, at: now) }
        schedule.storeFailed(at: now)
    }

    private mutating func note(_ health: RouteHealth, at now: Duration) {
        switch health {
        case .answered, .busy:
            profile.worked(at: now)
            turns.gorushAnswered()
            issue = nil
            if case .busy(let status) = health {
                belief.wasTurnedAway(status: status, at: now)
            } else {
                belief.wasTaken()
            }
        case .silent: break
        case .broken:
            profile.connectionBroke()
            schedule.probe(by: now)
        case .away(let issue):
            turns.gorushRefused(at: now)
            self.issue = issue
            profile.connectionBroke()
            schedule.probe(by: now)
        }
    }

    /// Ends an attempt, and decides how long its device and its push wait.
    private mutating func end(_ ended: PushAttempt, jitter: Double, at now: Duration) {
        var attempt = ended
        let choice = attempt.choice
        turns.end(choice)
        attempt.isMarked = posted.removeValue(forKey: choice.number)?.isMarked ?? false
        unprovenBudget.ended(attempt.push, isRefused: attempt.outcome.isRejection)
        // A call that was not sent goes back to the others when its mark is taken back.
        if choice.kind == .call, !attempt.outcome.isNotSent {
            turns.endCall(choice, hasWorked: attempt.outcome == .sent, at: now)
        }
        func delay(since: Duration) -> Duration { ProportionalBackOff.delay(ofTroubleOf: now - since, jitter: jitter) }
        var since: Duration { refusedSince[attempt.push.id] ?? now }
        var (isRefused, least) = (false, Duration.zero)
        switch attempt.outcome {
        case .sent: return delivered(attempt, at: now)
        case .notSent: return returned(attempt, at: now)
        case .failed(let failure) where attempt.outcome.isPushRefusal:
            isRefused = true
            attempt.ownDelay = failure.kind == .tooLong && attempt.push.mayBeShortened ? .zero : delay(since: since)
        case .broken where attempt.push.uncertain.brokenCount < Self.maximumBrokenCount:
            isRefused = true
            attempt.uncertain.brokenCount += 1
            attempt.ownDelay = delay(since: since)
        case .unknown, .broken:
            if case .broken = attempt.outcome { attempt.uncertain.brokenCount += 1 }
            attempt.uncertain.unansweredCount += 1
            attempt.ownDelay = max(.zero, UncertainAttempts.interval * attempt.uncertain.unansweredCount - attempt.duration)
            if uncertain.count < Self.maximumRememberedCount { uncertain.insert(choice.device) }
        case .passing(_, let retryAfter):
            (isRefused, least) = (true, retryAfter ?? .zero)
            attempt.ownDelay = max(least, delay(since: since))
        case .failed(let failure):
            isRefused = failure.kind == .transient
            if isRefused { attempt.ownDelay = delay(since: since) }
            if [.quota, .deviceQuota].contains(failure.kind) { least = Self.quotaDelay }
        }
        if isRefused { remember(attempt.push.id, since: since) }
        outcomes.add(attempt, at: now)
        guard choice.kind != .call else { return }
        if attempt.outcome.isPushRefusal {
            // The token may be good. The payload may have been looked at first, so a suspicion stays.
            _ = turns.update(choice.device, at: now) { device in
                device.trouble = nil
                device.wait(until: now + attempt.ownDelay)
            }
        } else {
            fail(attempt, least: least, jitter: jitter, at: now)
        }
    }

    private mutating func remember(_ push: Int64, since: Duration) {
        // The oldest ones have ended in the meantime, most of them otherwise than by an attempt.
        if refusedSince.count >= Self.maximumRememberedCount, refusedSince[push] == nil {
            for id in refusedSince.keys.sorted().prefix(Self.maximumRememberedCount / 10) { refusedSince[id] = nil }
        }
        refusedSince[push] = since
    }

    private mutating func delivered(_ attempt: PushAttempt, at now: Duration) {
        turns.delivered(at: now)
        let released = belief.delivered(attempt, at: now)
        let device = attempt.choice.device
        if attempt.push.uncertain.unansweredCount > 0 || uncertain.contains(device) { schedule.bringForward(at: now) }
        let isActive = turns.update(device, at: now) { device in
            device.trouble = nil
            device.trust = .proven
            if attempt.choice.kind != .call { device.isBusy = false }
        }
        if !isActive { belief.forget(device) }
        // The route works again: nobody waits for the rest of a long delay.
        for device in released { _ = turns.update(device, at: now) { $0.trouble?.next = now } }
        outcomes.add(attempt, at: now)
    }

    /// Ends an attempt that gorush did not take. Its push is as before.
    private mutating func returned(_ attempt: PushAttempt, at now: Duration) {
        let delay = turns.breaker.pausedSince == nil ? Self.untakenDelay : .zero
        if attempt.choice.kind != .call {
            _ = turns.update(attempt.choice.device, at: now) { device in
                device.isBusy = attempt.isMarked
                if attempt.push.attempts == 0 { device.returnUntried() } else { device.wait(until: now) }
                device.notBefore = now + delay
            }
        }
        // Only a mark has to be taken back.
        if attempt.isMarked { outcomes.add(attempt, at: now) } else { attempted.remove(attempt.push.id) }
    }

    /// Records trouble of a device. Its outcome has to be recorded before its next attempt.
    private mutating func fail(_ attempt: PushAttempt, least: Duration, jitter: Double, at now: Duration) {
        // A batch without an answer says nothing about any of its devices.
        let isDevicesOwn = !attempt.isShared || attempt.outcome.words != nil
        var since = now
        _ = turns.update(attempt.choice.device, at: now) { device in
            device.wait(until: now + attempt.ownDelay)
            guard isDevicesOwn else { return }
            since = device.trouble?.since ?? now
            let delay = max(attempt.duration, least, ProportionalBackOff.delay(ofTroubleOf: now - since, jitter: jitter))
            device.trouble = .init(since: since, next: now + delay, isSlow: attempt.duration >= Bulkhead.slowDuration)
        }
        if isDevicesOwn { belief.failed(attempt, troubleSince: since, at: now) }
    }

    private mutating func countTroubled(at now: Duration) {
        guard now - troubled.at >= Self.countInterval else { return }
        let count = turns.devices.troubled.count { device in
            device.trust == .proven && (device.hasPushes || device.isBusy)
                && device.trouble.map { now - $0.since >= Belief.interval } ?? false
        }
        troubled = (count, now)
    }

    // MARK: The store

    /// Takes the outcomes to record.
    mutating func takeOutcomes(at now: Duration) -> (attempts: [PushAttempt], locked: [OutboxUpdate.Push]) { outcomes.take(at: now) }

    /// Somebody waits for the outcomes of attempts.
    mutating func hastenOutcomes(at now: Duration) { outcomes.hasten(at: now) }

    /// The outcomes of attempts are recorded, with these decisions.
    mutating func recorded(
        _ decisions: [PushDecision], of attempts: [PushAttempt], as changes: [OutboxUpdate.Push], exceptLocked rows: Set<Int64>,
        at now: Duration
    ) {
        schedule.ended(.recording)
        storeFailure = nil
        outcomes.recorded(changes, exceptLocked: rows, at: now)
        let ended = Set(attempts.map(\.push.id))
        for change in changes where !rows.contains(change.id) {
            // While another session held the row, the device was looked up without it.
            if let device = attempted.remove(change.id), !ended.contains(change.id) {
                turns.found([device], trust: .unproven, isNet: false, at: now)
            }
        }
        for (decision, attempt) in zip(decisions, attempts) { recorded(decision, attempt, at: now) }
    }

    private mutating func recorded(_ decision: PushDecision, _ attempt: PushAttempt, at now: Duration) {
        let device = attempt.choice.device
        var isActive = true
        if attempt.choice.kind == .call {
            if attempt.outcome.isNotSent { turns.putBackCall(attempt.choice, at: now) }
        } else if attempt.outcome != .sent {
            isActive = turns.update(device, at: now) { $0.isBusy = false }
        }
        guard case .finish(let outcome) = decision.disposition else { return }
        refusedSince[attempt.push.id] = nil
        if outcome == .deadToken { belief.forget(device, isDead: true) }
        switch decision.token {
        case .unregister:
            // A look-up finds what waits for the same phone nevertheless: a push that goes to its new token.
            _ = turns.update(device, at: now) { device in
                device.trouble = nil
                device.wait(until: now)
            }
        case .giveUp: belief.forget(device)
        case .none, .suspect, .works: if !isActive { belief.forget(device) }
        }
    }

    mutating func recordingFailed(_ error: String, at now: Duration) {
        schedule.ended(.recording)
        outcomes.failed(at: now)
        storeFailed(error, in: .recording, at: now)
    }

    /// The mark of these pushes could not be written.
    mutating func notMarked(_ rows: [Int64]) { setMarked(false, rows) }

    /// An attempt that ends while its mark is written has to take the mark back.
    private mutating func setMarked(_ isMarked: Bool, _ rows: [Int64]) {
        let rows = Set(rows)
        for (number, attempt) in posted where rows.contains(attempt.row) { posted[number]?.isMarked = isMarked }
    }

    /// - Parameter isComplete: Whether no more are to be brought forward.
    mutating func broughtForward(isComplete: Bool, at now: Duration) {
        if isComplete { uncertain.formIntersection(devicesOfUnrecordedFailures) }
        schedule.broughtForward(isComplete: isComplete, at: now)
    }

    /// The devices whose failed attempts the database does not know yet, so that it could not bring their pushes forward.
    private var devicesOfUnrecordedFailures: Set<DeviceCode> {
        let attempts = (outcomes.waiting + outcomes.recording).filter { $0.outcome != .sent }
        return Set(attempts.map(\.choice.device) + outcomes.locked.keys.compactMap { attempted.device(of: $0) })
    }

    mutating func ended(_ work: Schedule.Work) {
        schedule.ended(work)
        storeWorked(in: work)
    }

    /// Ends calls that have waited too long, and returns rows of those that have ended without an attempt, a thousand at most.
    mutating func endedCalls(at now: Duration) -> [Int64] { turns.endedCalls(at: now) }

    /// The database knows that the first of them have ended.
    mutating func finishedCalls(_ count: Int) { turns.finishedCalls(count) }

    /// The outbox could not be read or written.
    mutating func storeFailed(_ error: String, in work: Schedule.Work, at now: Duration) {
        storeFailure = (work, error)
        if work == .bringingForward { schedule.bringForward(at: now) }
        schedule.storeFailed(at: now)
    }

    /// Work with the outbox is done. Other work may still fail: a full disk can be read.
    mutating func storeWorked(in work: Schedule.Work) { if storeFailure?.work == work { storeFailure = nil } }

    /// Why the outbox could not be read or written, or nil if it could.
    var storeIssue: String? { storeFailure?.error }

    // MARK: What is known of earlier

    /// The store knows that a push was delivered to these bundle ids.
    mutating func saved(_ topics: Set<String>) { belief.saved(topics) }

    /// These devices got a push in an earlier process.
    mutating func restore(recent devices: [(device: DeviceCode, deliveredAt: Duration, isSuspected: Bool)], at now: Duration) {
        belief.restore(devices, at: now)
    }

    // MARK: gorush

    /// gorush responded to a probe, or did not.
    mutating func probed(_ probe: GorushClient.Probe, at now: Duration) {
        profile.probed(probe, at: now)
        setMemberCount(memberCount)
        if case .instance = probe, turns.breaker.pausedSince != nil, !turns.isWaiting || isHeld(at: now) {
            // No push waits that could be the trial.
            turns.gorushAnswered()
            issue = nil
        }
        schedule.probed(isFine: profile.isUsable && turns.breaker.refusedCount == 0, at: now)
    }
}
