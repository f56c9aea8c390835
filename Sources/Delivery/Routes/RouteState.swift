import Concurrency
import PushProtocol
import Store
import Wire

/// A route as a value: what happened to it goes in (``handle(_:at:)``), what is to be done comes out (``next(at:)``).
///
/// It decides when to look at the queue, how much may be under way, when to ask gorush how it is set up, and when pushes are to expire.
/// Times are those of a monotonic clock, from the start of the delivery.
struct RouteState: Sendable {
    enum Event: Sendable, Equatable {
        /// There may be something new in the queue.
        case woken
        /// The server shuts down.
        case stopping
        /// Requests go out, with so many notifications each; more may be due.
        case posting([Int])
        /// Nothing is due before that time; nil: the queue is empty.
        case nothingDue(until: Duration?)
        /// The outbox could not be read or written.
        case storeFailed(String)
        /// gorush answered after that time, or did not. The jitter, from 0 to 1, is for the time after which it is tried again.
        case answered(RouteNews, Verdicts, jitter: Double, latency: Duration = .zero)
        /// gorush takes no more notifications in a request than so many.
        case limited(Int)
        /// gorush has answered a request with so many notifications, or will not any more: another one may go out.
        case ended(Int)
        /// gorush said how it is set up, or did not.
        case probed(GorushClient.Probe)
        /// A push was delivered to these bundle ids, which is written down.
        case topicsSaved(Set<String>)
    }

    enum Action: Sendable, Equatable {
        /// Ask gorush how it is set up, beside all else.
        case probe
        /// End what is too old to wake anybody.
        case expire
        /// Post what is due: so many requests, with up to so many notifications each; nil: one, with one token. What waits to be settled
        /// goes into the same transaction.
        case look(requests: Int, batch: Int?)
        /// Write what became of pushes.
        case settle
        /// What waited for a first success is due now.
        case hasten
        /// Do nothing before that time unless an event comes.
        case wait(until: Duration)
        /// Begin nothing any more.
        case stop
    }

    /// However quiet, a route looks at its queue so often.
    static let longestPause = Duration.seconds(30)
    /// While more is due than may go out, room for several requests is gathered for so long, and what became of others waits for it: each
    /// look costs a read and a commit.
    static let gatheringTime = Duration.milliseconds(5)
    /// A database that fails is not asked without pause.
    static let storeRetryInterval = Duration.seconds(1)
    /// What a gorush says of itself changes when it is started anew; that is noticed by its absence, but not always.
    static let probeInterval = Duration.seconds(300)
    /// One that is not there is looked for more often: an idle server is to be ready when its gorush is.
    static let searchInterval = BackOff.route.longest

    private enum Queue {
        case mayHaveMore
        case beingRead
        case quiet(until: Duration)
    }

    private enum Probing: Equatable {
        case waiting(until: Duration)
        case underWay
    }

    let route: DeliveryConfiguration.Route
    private let configuration: DeliveryConfiguration
    /// Routes that share the gorush of this one, itself included.
    private let routesOfEndpoint: Int

    private var isStopping = false
    /// Until when there is nothing to do, by the last ``next(at:)``; nil: there is.
    private var waitEnd: Duration?
    private var queue = Queue.mayHaveMore
    /// Requests that were asked for last.
    private var lookedForCount = 0
    /// When the queue was looked at last; nil unless it had all that was asked for.
    private var fullLook: Duration?
    private var nextExpiry = Duration.zero
    private var storeRetry = Duration.zero
    private(set) var breaker = Breaker()
    private var surge: InvalidTokenSurge
    private var credentialFault = CredentialFault()
    private(set) var topics: TopicFaults
    private var probation = Probation()
    /// Why a push was turned down last, as long as none was ever delivered.
    private var refusal: String?
    private var mustHasten = false
    private(set) var timeOuts = TimeOuts()
    /// What became of pushes and is not written yet.
    var unsettled: [Outbox.Attempt] = []
    /// Whether there has ever been a push.
    private var hasPushes = false { didSet { if !oldValue { readInstance() } } }
    private var requestsInFlight = 0
    private(set) var window: RequestWindow
    private(set) var notificationsInFlight = 0

    private var probing = Probing.waiting(until: .zero)
    /// Why gorush could not be used when it was last asked.
    private(set) var probeIssue: String?
    /// Whether gorush has been asked, and has answered or has not in time.
    private(set) var hasProbed = false
    /// As gorush last described itself.
    private(set) var instance: GorushInstance? { didSet { readInstance() } }
    /// What it says that will lose pushes.
    private var instanceWarnings: [String] = []
    private var maximumNotificationCount: Int
    /// Smaller for a while after a failure: what is not answered may be delivered twice.
    private var carefulNotificationCount = Int.max

    /// Why gorush takes no pushes.
    private(set) var issue: String?
    private(set) var storeIssue: String?

    init(route: DeliveryConfiguration.Route, configuration: DeliveryConfiguration, routesOfEndpoint: Int) {
        self.route = route
        self.configuration = configuration
        self.routesOfEndpoint = routesOfEndpoint
        surge = InvalidTokenSurge(share: configuration.deadTokenWaveShare)
        topics = TopicFaults(configured: configuration.knownTopics(of: route))
        maximumNotificationCount = configuration.maximumNotificationsPerRequest
        window = RequestWindow(maximumCount: configuration.maximumRequestsInFlight)
    }

    // MARK: What is to be done

    /// What to do now. To be asked after each action, and after each event that comes while waiting.
    mutating func next(at now: Duration) -> Action {
        let action = decide(at: now)
        waitEnd = if case .wait(let end) = action { end } else { nil }
        return action
    }

    private mutating func decide(at now: Duration) -> Action {
        var pause = now + Self.longestPause
        if isStopping {
            guard requestsInFlight > 0 || !unsettled.isEmpty else { return .stop }
            return storeRetry > now ? .wait(until: storeRetry) : rest(until: pause)
        }
        if case .waiting(let until) = probing {
            guard until > now else {
                probing = .underWay
                return .probe
            }
            pause = min(pause, until)
        }
        // How gorush is set up decides about the very first request.
        guard hasProbed else { return .wait(until: pause) }
        if let told = credentialFault.told(after: now) { pause = min(pause, told) }
        guard storeRetry <= now else { return .wait(until: min(pause, storeRetry)) }
        if mustHasten {
            guard unsettled.isEmpty else { return .settle }
            mustHasten = false
            queue = .mayHaveMore
            return .hasten
        }
        guard nextExpiry > now else {
            nextExpiry = now + Self.longestPause
            return .expire
        }
        pause = min(pause, nextExpiry)
        if case .quiet(let until) = queue, until > now { return rest(until: min(pause, until)) }
        guard configurationFault == nil else { return rest(until: pause) }
        let requests = requestRoom(at: now)
        guard requests > 0 else {
            // Full, or a trial is under way: its end is an event.
            if let attempt = breaker.nextAttempt, attempt > now { pause = min(pause, attempt) }
            return rest(until: pause)
        }
        if let fullLook, requests < window.count / 4, now < fullLook + Self.gatheringTime {
            return .wait(until: min(pause, fullLook + Self.gatheringTime))
        }
        queue = .beingRead
        lookedForCount = requests
        return .look(requests: requests, batch: batchCount)
    }

    /// Nothing goes out before that time: what waits to be settled need not wait for it.
    private func rest(until end: Duration) -> Action { unsettled.isEmpty ? .wait(until: end) : .settle }

    /// Requests that may go out now.
    func requestRoom(at now: Duration) -> Int {
        let queueCount = instance?.queueCount ?? GorushInstance.defaultQueueCount
        // Half of gorush's queue: others may use it too.
        let half = max(1, queueCount / 2)
        var maximumInFlight = min(configuration.maximumNotificationsInFlight, max(1, half / routesOfEndpoint))
        if let workers = workerShare {
            // One batch more than it works on waits for it to have time.
            maximumInFlight = min(maximumInFlight, batchCount == nil ? workers : 2 * workers)
        }
        guard notificationsInFlight < maximumInFlight else { return 0 }
        let notifications = max(1, (maximumInFlight - notificationsInFlight) / (batchCount ?? 1))
        let requests = max(0, window.count - requestsInFlight)
        return min(requests, notifications, breaker.permits(at: now))
    }

    /// Notifications in a request; nil: one, with one token.
    private var batchCount: Int? {
        switch configuration.batchMode {
        case .automatic, .single: nil
        case .batch: min(maximumNotificationCount, carefulNotificationCount, workerShare ?? .max)
        }
    }

    /// Notifications that gorush works on at a time, if it answers when that is done; nil: it does not say. More of them in it only wait
    /// there, where a kill makes them uncertain. Each of the other routes finds workers free, whatever this one has under way.
    private var workerShare: Int? {
        guard let workers = instance?.core.worker_num, workers > 0 else { return nil }
        return max(1, workers - (routesOfEndpoint - 1) * max(1, workers / (2 * routesOfEndpoint)))
    }

    /// Workers that gorush needs for what its routes have under way at first, and spare ones.
    private var wantedWorkerCount: Int {
        routesOfEndpoint * min(RequestWindow.initialCount, configuration.maximumRequestsInFlight) * 5 / 4
    }

    /// Why nothing is posted to this gorush.
    var configurationFault: String? { instance?.configurationFault }

    /// Which pushes may be attempted now: attempts with bundle ids that may be invented are counted.
    mutating func admitted(_ pushes: [QueuedPush], at now: Duration) -> Set<Int64> {
        Set(pushes.filter { admits($0, at: now) }.map(\.id))
    }

    private mutating func admits(_ push: QueuedPush, at now: Duration) -> Bool {
        // A gateway's bundle ids are its operator's.
        guard push.push.tokenType == .apn, push.notification == nil, !topics.isKnown(push.push.apnTopic) else {
            return true
        }
        return probation.take(push, at: now)
    }

    /// Whether verdicts on devices are not to be believed.
    func isSurge(at now: Duration) -> Bool { surge.isOn(at: now) }

    func refusesCredentials(at now: Duration) -> Bool { credentialFault.words(at: now) != nil }

    /// Why pushes are not delivered, in words for an operator; the route itself first.
    func healthIssues(at now: Duration) -> [String] {
        // Anybody can register a device of a platform that is not served here: that is a warning.
        var healthIssues = [isDisabled ? probeIssue : issue ?? probeIssue, configurationFault].compactMap(\.self)
        if let words = credentialFault.words(at: now) {
            healthIssues.append("\(route.platform == .ios ? "Apple" : "Google") refuses gorush's credentials: \(words)")
        }
        healthIssues += topics.healthIssues(at: now)
        if surge.isOn(at: now) { healthIssues.append("so many pushes are turned down that it cannot be the devices") }
        return healthIssues
    }

    private mutating func readInstance() {
        instanceWarnings =
            instance?.warnings(
                for: .init(
                    platform: route.platform, environment: configuration.endpoint(of: route).environment, hasPushes: hasPushes,
                    workerCount: wantedWorkerCount)) ?? []
    }

    /// What will lose pushes though all seems well.
    func warnings(at now: Duration) -> [String] {
        guard let refusal, topics.delivered.isEmpty else { return instanceWarnings }
        return instanceWarnings + ["no push was ever delivered here, and what was tried is turned down: \(refusal)"]
    }

    /// Whether gorush says that it does not serve the platform.
    private var isDisabled: Bool {
        switch route.platform {
        case .ios: instance?.ios?.enabled == false
        case .android: instance?.android?.enabled == false
        }
    }

    /// Until when nothing happens unless an event comes; nil while something is under way.
    func idleUntil(at now: Duration) -> Duration? {
        guard waitEnd != nil, requestsInFlight == 0, probing != .underWay else { return nil }
        var copy = self
        guard case .wait(let until) = copy.decide(at: now) else { return nil }
        return until
    }

    /// Whether there is something to do before the time that ``next(at:)`` gave to wait until, or nothing is under way any more. Whoever
    /// does not wait will ask anyway.
    func mustWake(at now: Duration) -> Bool {
        guard let waitEnd else { return false }
        guard requestsInFlight > 0 else { return true }
        var copy = self
        guard case .wait(let until) = copy.decide(at: now) else { return true }
        return until < waitEnd
    }

    // MARK: What happened

    mutating func handle(_ event: Event, at now: Duration) {
        switch event {
        case .woken:
            queue = .mayHaveMore
        case .stopping:
            isStopping = true
        case .posting(let batches):
            storeIssue = nil
            hasPushes = true
            queue = .mayHaveMore
            fullLook = batches.count < lookedForCount ? nil : now
            for count in batches {
                breaker.begin()
                requestsInFlight += 1
                notificationsInFlight += count
            }
            window.posted(underWay: requestsInFlight)
        case .nothingDue(let until):
            storeIssue = nil
            fullLook = nil
            // Unless it was woken since it looked.
            if case .beingRead = queue { queue = .quiet(until: min(until ?? .seconds(Int64.max), now + Self.longestPause)) }
            if until != nil { hasPushes = true }
            // Nothing is left that waits for the end of a surge.
            if until == nil, requestsInFlight == 0, unsettled.isEmpty { surge.end() }
            // Nobody goes that could find out whether it works again.
            if breaker.state != .closed, case .waiting(let probe) = probing {
                probing = .waiting(until: min(probe, now + Self.searchInterval))
            }
        case .storeFailed(let error):
            storeIssue = error
            storeRetry = now + Self.storeRetryInterval
            nextExpiry = .zero
            queue = .mayHaveMore
        case .answered(.works, let verdicts, _, let latency):
            judge(verdicts, at: now)
            window.answered(in: latency)
            carefulNotificationCount = 2 * min(carefulNotificationCount, .max / 2)
            works(at: now)
        case .answered(.fails(let issue, let retryAfter), let verdicts, let jitter, _):
            judge(verdicts, at: now)
            window.failed()
            carefulNotificationCount = max(1, maximumNotificationCount / 10)
            breaker.fail(at: now, retryAfter: retryAfter, jitter: jitter)
            self.issue = issue
        case .limited(let limit):
            works(at: now)
            maximumNotificationCount = min(maximumNotificationCount, limit)
        case .ended(let count):
            requestsInFlight -= 1
            notificationsInFlight -= count
            // Whether anything is left that waits is known when nothing is under way.
            if requestsInFlight == 0 { queue = .mayHaveMore }
        case .probed(let probe):
            probed(probe, at: now)
        case .topicsSaved(let saved):
            topics.saved(saved)
        }
    }

    private mutating func judge(_ verdicts: Verdicts, at now: Duration) {
        surge.record(verdicts.devices, at: now)
        for (topic, reason) in verdicts.refusedTopics { topics.refused(topic, reason: reason, at: now) }
        for topic in verdicts.deliveredTopics where topics.delivered(topic) { mustHasten = true }
        refusal = verdicts.refusal ?? refusal
        if let words = verdicts.credentialFault { credentialFault.refused(words, at: now) }
        if !verdicts.deliveredTopics.isEmpty, credentialFault.succeeded(at: now) { mustHasten = true }
    }

    /// What became of pushes that were posted, before anything else is made of it.
    mutating func record(_ outcomes: some Sequence<(QueuedPush, DeliveryOutcome)>) {
        timeOuts.record(outcomes)
        for (push, outcome) in outcomes { probation.ended(push, isRefused: outcome.isRefusal) }
    }

    private mutating func works(at now: Duration) {
        probeIssue = nil
        breaker.succeed()
        guard breaker.state == .closed, issue != nil else { return }
        issue = nil
        // It may be another one than before.
        if probing != .underWay { probing = .waiting(until: now) }
    }

    private mutating func probed(_ probe: GorushClient.Probe, at now: Duration) {
        hasProbed = true
        switch probe {
        case .unreachable: probeIssue = "gorush is not reachable"
        case .unusable(let issue): probeIssue = issue
        case .silent, .instance:
            probeIssue = nil
            // As long as there is a push to try it with, that decides.
            if case .quiet = queue, case .open(let until, _) = breaker.state, until <= now {
                breaker.reset()
                issue = nil
            }
        }
        switch probe {
        case .instance(let instance): self.instance = instance
        case .silent: instance = nil
        case .unusable, .unreachable: break
        }
        let isFine = probeIssue == nil && issue == nil && configurationFault == nil
        probing = .waiting(until: now + (isFine ? Self.probeInterval : Self.searchInterval))
        guard let instance else { return }
        maximumNotificationCount = min(configuration.maximumNotificationsPerRequest, instance.maximumNotificationCount ?? .max)
    }
}
