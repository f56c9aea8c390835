import Concurrency

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
        /// gorush answered, or did not. The jitter, from 0 to 1, is for the time after which it is tried again.
        case answered(RouteNews, InvalidTokenSurge.Verdicts, jitter: Double)
        /// gorush takes no more notifications in a request than so many.
        case limited(Int)
        /// What became of a request with so many notifications is written down.
        case ended(Int)
        /// gorush said how it is set up, or did not.
        case probed(GorushClient.Probe)
        /// gorush's feedback turned a push down that it had taken.
        case turnedDown
    }

    enum Action: Sendable, Equatable {
        /// Ask gorush how it is set up, beside all else.
        case probe
        /// End what is too old to wake anybody.
        case expire
        /// Post what is due: so many requests, with up to so many notifications each; nil: one, with one token.
        case look(requests: Int, batch: Int?)
        /// Do nothing before that time unless an event comes.
        case wait(until: Duration)
        /// Begin nothing any more.
        case stop
    }

    /// However quiet, a route looks at its queue so often.
    static let longestPause = Duration.seconds(30)
    /// A database that fails is not asked without pause.
    static let storeRetryInterval = Duration.seconds(1)
    /// What a gorush says of itself changes when it is started anew; that is noticed by its absence, but not always.
    static let probeInterval = Duration.seconds(300)
    /// One that is not there is looked for more often: an idle server is to be ready when its gorush is.
    static let searchInterval = BackOff.route.longest

    private enum Queue {
        case mayHaveMore
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
    /// Whether there is nothing to do but wait, by the last ``next(at:)``.
    private var isWaiting = false
    private var queue = Queue.mayHaveMore
    private var nextExpiry = Duration.zero
    private var storeRetry = Duration.zero
    private(set) var breaker = Breaker()
    private var surge: InvalidTokenSurge
    private var requestsInFlight = 0
    private(set) var notificationsInFlight = 0

    private var probing = Probing.waiting(until: .zero)
    /// Whether anybody answered when gorush was last heard of; nil: it has not been asked yet.
    private(set) var isReachable: Bool?
    /// As gorush last described itself.
    private(set) var instance: GorushInstance?
    /// What will lose pushes though all seems well.
    private(set) var warnings: [String] = []
    private var maximumNotificationCount: Int

    /// Why gorush takes no pushes.
    private(set) var trouble: String?
    private(set) var storeTrouble: String?

    init(route: DeliveryConfiguration.Route, configuration: DeliveryConfiguration, routesOfEndpoint: Int) {
        self.route = route
        self.configuration = configuration
        self.routesOfEndpoint = routesOfEndpoint
        surge = InvalidTokenSurge(share: configuration.deadTokenWaveShare)
        maximumNotificationCount = configuration.maximumNotificationsPerRequest
    }

    // MARK: What is to be done

    /// What to do now. To be asked after each action, and after each event that comes while waiting.
    mutating func next(at now: Duration) -> Action {
        let action = decide(at: now)
        isWaiting = if case .wait = action { true } else { false }
        return action
    }

    private mutating func decide(at now: Duration) -> Action {
        if isStopping { return .stop }
        var pause = now + Self.longestPause
        if case .waiting(let until) = probing {
            guard until > now else {
                probing = .underWay
                return .probe
            }
            pause = min(pause, until)
        }
        // How gorush is set up decides about the very first request.
        guard isReachable != nil else { return .wait(until: pause) }
        guard storeRetry <= now else { return .wait(until: min(pause, storeRetry)) }
        guard nextExpiry > now else {
            nextExpiry = now + Self.longestPause
            return .expire
        }
        pause = min(pause, nextExpiry)
        if case .quiet(let until) = queue, until > now { return .wait(until: min(pause, until)) }
        let requests = requestRoom(at: now)
        guard requests > 0 else {
            // Full, or a trial is under way: its end is an event.
            if let attempt = breaker.nextAttempt, attempt > now { pause = min(pause, attempt) }
            return .wait(until: pause)
        }
        queue = .quiet(until: now + Self.longestPause)
        return .look(requests: requests, batch: batchCount)
    }

    /// Requests that may go out now.
    func requestRoom(at now: Duration) -> Int {
        let queueCount = instance?.queueCount ?? GorushInstance.defaultQueueCount
        // Half of gorush's queue: others may use it too.
        let maximumInFlight = min(configuration.maximumNotificationsInFlight, max(1, queueCount / 2 / routesOfEndpoint))
        guard notificationsInFlight < maximumInFlight else { return 0 }
        let notifications = max(1, (maximumInFlight - notificationsInFlight) / (batchCount ?? 1))
        let requests = max(0, configuration.maximumRequestsInFlight - requestsInFlight)
        return min(requests, notifications, breaker.permits(at: now))
    }

    /// Notifications in a request; nil: one, with one token.
    private var batchCount: Int? {
        switch configuration.batchMode {
        case .single: nil
        case .batch: maximumNotificationCount
        case .automatic: isSync == false ? maximumNotificationCount : nil
        }
    }

    /// Whether gorush answers when Apple or Google has; nil: it does not say.
    var isSync: Bool? { instance?.core.sync }

    /// Whether verdicts on devices are not to be believed.
    func isSurge(at now: Duration) -> Bool { surge.isOn(at: now) }

    /// Until when nothing happens unless an event comes; nil while something is under way.
    func idleUntil(at now: Duration) -> Duration? {
        guard isWaiting, requestsInFlight == 0, probing != .underWay else { return nil }
        var copy = self
        guard case .wait(let until) = copy.next(at: now) else { return nil }
        return until
    }

    // MARK: What happened

    mutating func handle(_ event: Event, at now: Duration) {
        switch event {
        case .woken:
            queue = .mayHaveMore
        case .stopping:
            isStopping = true
        case .posting(let batches):
            storeTrouble = nil
            queue = .mayHaveMore
            for count in batches {
                breaker.begin()
                requestsInFlight += 1
                notificationsInFlight += count
            }
        case .nothingDue(let until):
            storeTrouble = nil
            // Unless it was woken since it looked.
            if case .quiet(let latest) = queue, let until { queue = .quiet(until: min(until, latest)) }
        case .storeFailed(let error):
            storeTrouble = error
            storeRetry = now + Self.storeRetryInterval
            nextExpiry = .zero
            queue = .mayHaveMore
        case .answered(.works, let verdicts, _):
            surge.record(verdicts, at: now)
            works(at: now)
        case .answered(.fails(let trouble, let retryAfter), let verdicts, let jitter):
            surge.record(verdicts, at: now)
            breaker.fail(at: now, retryAfter: retryAfter, jitter: jitter)
            self.trouble = trouble
        case .limited(let limit):
            works(at: now)
            maximumNotificationCount = min(maximumNotificationCount, limit)
        case .ended(let count):
            requestsInFlight -= 1
            notificationsInFlight -= count
            queue = .mayHaveMore
        case .probed(let probe):
            probed(probe, at: now)
        case .turnedDown:
            // In sync mode the answer has said the same before.
            if isSync != true { surge.record(.init(turnedDown: 1), at: now) }
        }
    }

    private mutating func works(at now: Duration) {
        isReachable = true
        breaker.succeed()
        guard breaker.state == .closed, trouble != nil else { return }
        trouble = nil
        // It may be another one than before.
        if probing != .underWay { probing = .waiting(until: now) }
    }

    private mutating func probed(_ probe: GorushClient.Probe, at now: Duration) {
        isReachable = probe != .unreachable
        probing = .waiting(until: now + (probe == .unreachable ? Self.searchInterval : Self.probeInterval))
        guard case .instance(let instance) = probe else { return }
        self.instance = instance
        warnings = instance.warnings(for: route.platform, environment: configuration.endpoint(of: route).environment)
        maximumNotificationCount = min(configuration.maximumNotificationsPerRequest, instance.maximumNotificationCount ?? .max)
    }
}
