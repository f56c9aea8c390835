import Concurrency
import Store
import TestSupport
import Testing

@testable import Delivery

/// When a route looks at its queue, how much goes out, and when it asks gorush how it is set up: without HTTP, a database or a clock.
@Suite(.safetyNet) struct RouteStateTests {
    private func route(
        _ pushes: DeliveryConfiguration.Route.Pushes = .platform(.android), routesOfEndpoint: Int = 1,
        _ configure: (inout DeliveryConfiguration) -> Void = { _ in }
    ) -> RouteState {
        var configuration = DeliveryConfiguration(endpoint: .init(url: "http://gorush"))
        configure(&configuration)
        return RouteState(
            route: .init(name: "route", pushes: pushes), configuration: configuration, routesOfEndpoint: routesOfEndpoint)
    }

    /// A route whose gorush has been asked at time zero, and that is about to look at its queue.
    private func started(
        _ probe: GorushClient.Probe = .silent, routesOfEndpoint: Int = 1, _ configure: (inout DeliveryConfiguration) -> Void = { _ in }
    ) -> RouteState {
        var route = route(routesOfEndpoint: routesOfEndpoint, configure)
        #expect(route.next(at: .zero) == .probe)
        route.handle(.probed(probe), at: .zero)
        #expect(route.next(at: .zero) == .expire)
        return route
    }

    private func instance(_ yaml: String) -> GorushClient.Probe {
        GorushInstance(yaml: Array(yaml.utf8)).map(GorushClient.Probe.instance) ?? .unreachable
    }

    private static let fails = RouteNews.fails(issue: "gone", retryAfter: nil)

    private func answered(_ news: RouteNews) -> RouteState.Event { .answered(news, .init(), jitter: 1) }

    // MARK: The queue

    @Test func `Nothing goes out before gorush was asked how it is set up`() {
        var route = route()
        #expect(route.next(at: .zero) == .probe)
        #expect(RouteView(route, at: .zero).healthIssues == ["gorush has not answered yet"])
        route.handle(.woken, at: .zero)
        #expect(route.next(at: .zero) == .wait(until: RouteState.longestPause))
        route.handle(.probed(.unreachable), at: .seconds(5))
        #expect(route.next(at: .seconds(5)) == .expire)
        #expect(route.next(at: .seconds(5)) == .look(requests: 32, batch: nil))
    }

    @Test(arguments: [(nil, false), ("{}", true), ("core: {sync: true}", true), ("core: {sync: false}", false)])
    func `Deliveries are proven by a gorush that does not say otherwise`(core: String?, isProof: Bool) {
        var route = route()
        if let core { route.handle(.probed(instance(core)), at: .zero) }
        #expect(RouteView(route, at: .zero).provesDeliveries == isProof)
    }

    @Test func `A queue is looked at until nothing is due, and then when the next is due`() {
        var route = started()
        #expect(route.next(at: .zero) == .look(requests: 32, batch: nil))
        route.handle(.posting([1, 1]), at: .zero)
        #expect(route.next(at: .zero) == .look(requests: 30, batch: nil))
        route.handle(.nothingDue(until: .seconds(7)), at: .zero)
        #expect(route.next(at: .zero) == .wait(until: .seconds(7)))
        #expect(route.next(at: .seconds(7)) == .look(requests: 30, batch: nil))
    }

    @Test("However quiet, it is looked at again", arguments: [nil, Duration.seconds(3_600)])
    func quiet(next: Duration?) {
        var route = started()
        #expect(route.next(at: .zero) == .look(requests: 32, batch: nil))
        route.handle(.nothingDue(until: next), at: .zero)
        #expect(route.next(at: .zero) == .wait(until: .seconds(30)))
        #expect(route.next(at: .seconds(30)) == .expire)
        #expect(route.next(at: .seconds(30)) == .look(requests: 32, batch: nil))
    }

    @Test func `What is new is looked for at once, also when it came in the middle of a look`() {
        var route = started()
        #expect(route.next(at: .zero) == .look(requests: 32, batch: nil))
        route.handle(.woken, at: .zero)
        route.handle(.nothingDue(until: .seconds(7)), at: .zero)
        #expect(route.next(at: .zero) == .look(requests: 32, batch: nil))
        route.handle(.nothingDue(until: nil), at: .zero)
        #expect(route.next(at: .zero) == .wait(until: .seconds(30)))
        route.handle(.woken, at: .seconds(1))
        #expect(route.next(at: .seconds(1)) == .look(requests: 32, batch: nil))
    }

    @Test func `What is too old is looked for every half minute, also while the route is full or takes nothing`() {
        var full = started { $0.maximumRequestsInFlight = 1 }
        full.handle(.posting([1]), at: .zero)
        #expect(full.next(at: .seconds(29)) == .wait(until: .seconds(30)))
        #expect(full.next(at: .seconds(30)) == .expire)
        var broken = started()
        broken.handle(.answered(.fails(issue: "", retryAfter: .seconds(3_600)), .init(), jitter: 1), at: .zero)
        #expect(broken.next(at: .seconds(30)) == .expire)
        #expect(broken.next(at: .seconds(30)) == .wait(until: .seconds(60)))
    }

    @Test func `A store that fails rests for a second, whatever comes, and then what is too old is looked for first`() {
        var route = started()
        #expect(route.next(at: .zero) == .look(requests: 32, batch: nil))
        route.handle(.storeFailed("full"), at: .seconds(1))
        route.handle(.woken, at: .seconds(1))
        #expect(route.next(at: .seconds(1)) == .wait(until: .seconds(2)))
        #expect(RouteView(route, at: .seconds(1)).healthIssues == ["the outbox cannot be used: full"])
        #expect(route.next(at: .seconds(2)) == .expire)
        #expect(route.next(at: .seconds(2)) == .look(requests: 32, batch: nil))
        route.handle(.nothingDue(until: nil), at: .seconds(2))
        #expect(RouteView(route, at: .seconds(2)).healthIssues == [])
    }

    @Test func `A route that stops begins nothing`() {
        var route = started()
        route.handle(.stopping, at: .zero)
        route.handle(.woken, at: .zero)
        #expect(route.next(at: .seconds(9_999)) == .stop)
    }

    // MARK: How much goes out

    @Test func `No more requests are under way than are allowed`() {
        var route = started { $0.maximumRequestsInFlight = 3 }
        #expect(route.next(at: .zero) == .look(requests: 3, batch: nil))
        route.handle(.posting([1, 1, 1]), at: .zero)
        #expect(route.next(at: .zero) == .wait(until: .seconds(30)))
        route.handle(.ended(1), at: .zero)
        #expect(route.next(at: .zero) == .look(requests: 1, batch: nil))
    }

    @Test func `No more notifications are under way than are allowed, nor than half of gorush's queue for all its routes`() {
        var few = started {
            $0.batchMode = .batch; $0.maximumNotificationsInFlight = 250
        }
        #expect(few.next(at: .zero) == .look(requests: 2, batch: 100))
        few.handle(.posting([100, 100]), at: .zero)
        #expect(few.next(at: .zero) == .look(requests: 1, batch: 100))
        few.handle(.posting([50]), at: .zero)
        #expect(few.next(at: .zero) == .wait(until: .seconds(30)))
        few.handle(.ended(100), at: .zero)
        #expect(few.next(at: .zero) == .look(requests: 1, batch: 100))

        var small = started(instance("core: {queue_num: 60}"), routesOfEndpoint: 3)
        #expect(small.next(at: .zero) == .look(requests: 10, batch: nil))
        small.handle(.posting([Int](repeating: 1, count: 10)), at: .zero)
        #expect(small.next(at: .zero) == .wait(until: .seconds(30)))
        var tiny = started(instance("core: {queue_num: 1}"), routesOfEndpoint: 3)
        #expect(tiny.next(at: .zero) == .look(requests: 1, batch: nil))
    }

    @Test(
        "One push a request to a gorush in sync mode, or one that does not say; as many as it takes to one in async mode",
        arguments: [
            (DeliveryConfiguration.BatchMode.automatic, "sync: true", Int?.none), (.automatic, "max_notification: 50", nil),
            (.automatic, "sync: false, max_notification: 50", 50), (.automatic, "sync: false", 100),
            (.automatic, "sync: false, max_notification: 500", 100), (.single, "sync: false, max_notification: 50", nil),
            (.batch, "sync: true, max_notification: 50", 50), (.batch, "", 100),
        ])
    func shape(mode: DeliveryConfiguration.BatchMode, core: String, batch: Int?) {
        var route = started(instance("core: {\(core)}")) { $0.batchMode = mode }
        if route.isSync == false {
            #expect(route.next(at: .zero) == .askForBacklog)
            route.handle(.backlogKnown(nil), at: .zero)
        }
        guard case .look(_, batch) = route.next(at: .zero) else {
            Issue.record()
            return
        }
    }

    @Test func `A limit that gorush names is kept until it says otherwise`() {
        var route = started(instance("core: {sync: false}"))
        route.handle(.limited(7), at: .zero)
        #expect(route.next(at: .zero) == .askForBacklog)
        route.handle(.backlogKnown(nil), at: .zero)
        #expect(route.next(at: .zero) == .look(requests: 32, batch: 7))
        route.handle(.limited(70), at: .zero)
        route.handle(.woken, at: .zero)
        #expect(route.next(at: .zero) == .look(requests: 32, batch: 7))
        route.handle(.probed(instance("core: {sync: false}")), at: .zero)
        route.handle(.woken, at: .zero)
        #expect(route.next(at: .zero) == .look(requests: 10, batch: 100))
    }

    // MARK: Trouble

    @Test func `A route in trouble gets one request at a time, at growing intervals, until one is taken`() {
        var route = started()
        route.handle(.posting([1, 1]), at: .zero)
        route.handle(answered(Self.fails), at: .zero)
        route.handle(answered(Self.fails), at: .zero)
        for _ in 1...2 { route.handle(.ended(1), at: .zero) }
        var now = Duration.zero
        for failures in 1...5 {
            let attempt = now + BackOff.route.bound(afterFailures: failures)
            #expect(route.next(at: now) == .wait(until: attempt))
            #expect(route.next(at: attempt) == .look(requests: 1, batch: nil))
            route.handle(.posting([1]), at: attempt)
            // This one decides.
            #expect(route.next(at: attempt) == .wait(until: .seconds(30)))
            route.handle(answered(Self.fails), at: attempt)
            route.handle(.ended(1), at: attempt)
            #expect(RouteView(route, at: attempt).healthIssues == ["gone"])
            now = attempt
        }
    }

    @Test func `One request that is taken lets all go again, and gorush is asked whether it is another one`() {
        var route = started()
        route.handle(.posting([1]), at: .zero)
        route.handle(answered(Self.fails), at: .zero)
        route.handle(.ended(1), at: .zero)
        #expect(route.next(at: .seconds(4)) == .look(requests: 1, batch: nil))
        route.handle(.posting([1]), at: .seconds(4))
        route.handle(answered(.works), at: .seconds(4))
        route.handle(.ended(1), at: .seconds(4))
        #expect(RouteView(route, at: .seconds(4)).healthIssues == [])
        #expect(route.next(at: .seconds(4)) == .probe)
        // Half as many as before.
        #expect(route.next(at: .seconds(4)) == .look(requests: 16, batch: nil))
    }

    @Test func `A success of a request that went out before a failure ends no trouble`() {
        var route = started()
        route.handle(.posting([1, 1]), at: .zero)
        route.handle(answered(Self.fails), at: .zero)
        route.handle(answered(.works), at: .zero)
        #expect(RouteView(route, at: .zero).healthIssues == ["gone"])
        #expect(RouteView(route, at: .zero).isBreakerOpen)
    }

    @Test func `Nothing goes out before the time that gorush named`() {
        var route = started()
        route.handle(.answered(.fails(issue: "busy", retryAfter: .seconds(20)), .init(), jitter: 0), at: .zero)
        #expect(route.next(at: .zero) == .wait(until: .seconds(20)))
        #expect(route.next(at: .seconds(20)) == .look(requests: 1, batch: nil))
    }

    @Test func `What was read while the route failed does not go out`() {
        var route = started()
        #expect(route.next(at: .zero) == .look(requests: 32, batch: nil))
        #expect(route.requestRoom(at: .zero) == 32)
        route.handle(answered(Self.fails), at: .zero)
        #expect(route.requestRoom(at: .zero) == 0)
    }

    // MARK: Probing

    @Test func `A gorush that answers is asked every five minutes, one that does not every four seconds`() {
        for (probe, interval) in [(GorushClient.Probe.silent, 300), (instance("core: {}"), 300), (.unreachable, 4)] {
            var route = route()
            #expect(route.next(at: .zero) == .probe)
            // Once is enough, however long it takes.
            #expect(route.next(at: .seconds(1)) == .wait(until: .seconds(31)))
            route.handle(.probed(probe), at: .seconds(2))
            #expect(route.next(at: .seconds(1 + interval)) == .expire)
            #expect(route.next(at: .seconds(2 + interval)) == .probe)
        }
    }

    @Test func `A route says that its gorush is not reachable, until that or a push is answered`() {
        for event in [RouteState.Event.probed(.silent), .answered(.works, .init(), jitter: 1), .limited(1)] {
            var route = started(.unreachable)
            #expect(RouteView(route, at: .zero).healthIssues == ["gorush is not reachable"])
            route.handle(event, at: .zero)
            #expect(RouteView(route, at: .zero).healthIssues == [])
        }
    }

    @Test func `Of a gorush that cannot be reached, what it last said is still believed`() {
        var route = started(instance("core: {sync: false}"))
        route.handle(.probed(.unreachable), at: .zero)
        #expect(route.next(at: .zero) == .askForBacklog)
        route.handle(.backlogKnown(nil), at: .zero)
        #expect(route.next(at: .zero) == .look(requests: 10, batch: 100))
    }

    @Test(
        "A route is warned of what loses its own pushes",
        arguments: [
            (DeliveryConfiguration.Route.Pushes.platform(.ios), "ios.enabled"), (.apnTopics(["a"]), "ios.enabled"),
            (.platform(.android), "android.enabled"),
        ])
    func warnings(pushes: DeliveryConfiguration.Route.Pushes, word: String) {
        var route = route(pushes)
        route.handle(.probed(instance("core: {sync: true}\nios: {enabled: false}\nandroid: {enabled: false}")), at: .zero)
        // Nobody uses it.
        #expect(RouteView(route, at: .zero).warnings == [])
        route.handle(.posting([1]), at: .zero)
        let warnings = RouteView(route, at: .zero).warnings
        #expect(warnings.count == 1 && warnings[0].contains(word))
    }

    @Test func `Once nothing waits any more, a gorush that answers a probe ends the trouble`() {
        for probe in [GorushClient.Probe.silent, instance("core: {}")] {
            var route = started()
            route.handle(.posting([1]), at: .zero)
            route.handle(answered(Self.fails), at: .zero)
            route.handle(.ended(1), at: .zero)
            #expect(route.next(at: .seconds(4)) == .look(requests: 1, batch: nil))
            // There is a push to try it with: that decides.
            route.handle(.posting([1]), at: .seconds(4))
            route.handle(answered(Self.fails), at: .seconds(4))
            route.handle(.probed(probe), at: .seconds(4))
            #expect(RouteView(route, at: .seconds(4)).healthIssues == ["gone"])
            route.handle(.ended(1), at: .seconds(4))
            #expect(route.next(at: .seconds(8)) == .probe)
            #expect(route.next(at: .seconds(8)) == .look(requests: 1, batch: nil))
            route.handle(.nothingDue(until: nil), at: .seconds(8))
            route.handle(.probed(.unreachable), at: .seconds(9))
            #expect(RouteView(route, at: .seconds(9)).isBreakerOpen)
            #expect(route.next(at: .seconds(13)) == .probe)
            route.handle(.probed(probe), at: .seconds(13))
            #expect(RouteView(route, at: .seconds(13)).healthIssues == [] && !RouteView(route, at: .seconds(13)).isBreakerOpen)
        }
    }

    @Test func `A gorush that takes no pushes from us is trouble before there is a push`() {
        var route = started(.unusable(issue: "wrong password"))
        #expect(RouteView(route, at: .zero).healthIssues == ["wrong password"])
        #expect(route.next(at: .seconds(4)) == .probe)
        route.handle(.probed(.silent), at: .seconds(4))
        #expect(RouteView(route, at: .seconds(4)).healthIssues == [])
    }

    // MARK: Workers

    @Test(
        "While one route has all that it may under way, each of the others finds workers free",
        arguments: [(40, 2, 30), (32, 2, 24), (2, 2, 1), (1, 2, 1), (8, 3, 6), (32, 1, 32)])
    func workers(count: Int, routes: Int, share: Int) {
        var route = started(instance("core: {sync: true, worker_num: \(count)}"), routesOfEndpoint: routes) {
            $0.maximumRequestsInFlight = 256
        }
        #expect(route.next(at: .zero) == .look(requests: share, batch: nil))
        #expect(routes == 1 || share <= max(1, count - (routes - 1)))
    }

    @Test func `An operator is told how many workers all routes want`() {
        for (count, isEnough) in [(79, false), (80, true)] {
            let route = started(instance("core: {sync: true, worker_num: \(count)}"), routesOfEndpoint: 2)
            let warnings = RouteView(route, at: .zero).warnings
            #expect(warnings.isEmpty == isEnough && warnings.allSatisfy { $0.contains("80 are wanted") })
        }
    }

    @Test func `In sync mode no more is in gorush than its workers do soon`() {
        var route = started(instance("core: {sync: true, worker_num: 30}")) { $0.batchMode = .batch }
        #expect(route.next(at: .zero) == .look(requests: 2, batch: 30))
    }

    @Test func `After a failure batches are small, and grow with each success`() {
        var route = started(instance("core: {sync: false}"))
        func batch() -> Int? {
            var copy = route
            while true {
                switch copy.next(at: .seconds(100)) {
                case .look(_, let batch): return batch
                case .askForBacklog: copy.handle(.backlogKnown(0), at: .seconds(100))
                case .expire, .probe: continue
                default: return nil
                }
            }
        }
        #expect(batch() == 100)
        route.handle(.posting([100]), at: .zero)
        route.handle(answered(Self.fails), at: .zero)
        route.handle(.ended(100), at: .zero)
        #expect(batch() == 10)
        var sizes: [Int?] = []
        for _ in 1...5 {
            route.handle(.posting([10]), at: .seconds(100))
            route.handle(answered(.works), at: .seconds(100))
            route.handle(.ended(10), at: .seconds(100))
            sizes.append(batch())
        }
        #expect(sizes == [20, 40, 80, 100, 100])
    }

    // MARK: The backlog of an async gorush

    @Test func `To a gorush in async mode no more is posted than half its queue has room for`() {
        var route = started(instance("core: {sync: false, queue_num: 1000}"), routesOfEndpoint: 2)
        #expect(route.next(at: .zero) == .askForBacklog)
        route.handle(.backlogKnown(100), at: .zero)
        #expect(route.next(at: .zero) == .look(requests: 2, batch: 100))
        route.handle(.posting([100, 100]), at: .zero)
        // It answers at once: only its own count tells what has become of them.
        for _ in 1...2 {
            route.handle(answered(.works), at: .zero)
            route.handle(.ended(100), at: .zero)
        }
        #expect(route.next(at: .zero) == .wait(until: GorushBacklog.freshTime))
        #expect(route.next(at: GorushBacklog.freshTime) == .askForBacklog)
        route.handle(.backlogKnown(500), at: .seconds(1))
        #expect(route.next(at: .seconds(1)) == .wait(until: .seconds(1) + GorushBacklog.freshTime))
        #expect(route.next(at: .seconds(2)) == .askForBacklog)
        route.handle(.backlogKnown(0), at: .seconds(2))
        #expect(route.next(at: .seconds(2)) == .look(requests: 2, batch: 100))
    }

    @Test func `One that does not say how much waits is asked again a minute later`() {
        var route = started(instance("core: {sync: false}"))
        #expect(route.next(at: .zero) == .askForBacklog)
        route.handle(.backlogKnown(nil), at: .zero)
        #expect(route.next(at: .zero) == .look(requests: 10, batch: 100))
        route.handle(.posting([100]), at: .zero)
        #expect(route.next(at: .zero) == .look(requests: 9, batch: 100))
        route.handle(.posting([100]), at: .zero)
        #expect(route.next(at: .seconds(61)) == .expire)
        #expect(route.next(at: .seconds(61)) == .askForBacklog)
    }

    // MARK: Surges and credentials

    /// Verdicts on so many devices, numbered.
    private func verdicts(_ devices: Range<Int>, areTurnedDown: Bool, haveWorked: Bool = true) -> Verdicts {
        var verdicts = Verdicts()
        verdicts.devices = devices.map { .init(device: $0, isTurnedDown: areTurnedDown, hasWorked: haveWorked) }
        return verdicts
    }

    @Test func `Verdicts that cannot be the devices' are not believed, and an operator hears of it`() {
        for haveWorked in [true, false] {
            var route = started()
            let news = verdicts(0..<30, areTurnedDown: true, haveWorked: haveWorked)
            route.handle(.answered(.works, news, jitter: 1), at: .zero)
            // Strangers can register tokens that never work: that is no reason to call the server sick.
            #expect(route.isSurge(at: .zero) == haveWorked)
            #expect(
                RouteView(route, at: .zero).healthIssues
                    == (haveWorked ? ["so many pushes are turned down that it cannot be the devices"] : []))
            #expect(!route.isSurge(at: InvalidTokenSurge.window))
        }
    }

    @Test func `An operator is warned when nothing was ever delivered, and what is tried is turned down`() {
        for core in ["sync: true", "sync: false"] {
            var route = started(instance("core: {\(core)}"))
            let before = RouteView(route, at: .zero).warnings.count
            var refusal = Verdicts()
            refusal.refusal = "BadDeviceToken"
            route.handle(.answered(.works, refusal, jitter: 1), at: .zero)
            // Without word of successes there is nothing to tell.
            #expect(RouteView(route, at: .zero).warnings.count - before == (core == "sync: true" ? 1 : 0))
            route.handle(.answered(.works, delivered(), jitter: 1), at: .zero)
            #expect(RouteView(route, at: .zero).warnings.count == before)
        }
    }

    @Test func `A device of a platform that gorush does not serve is a warning, for anybody can register one`() {
        for isDisabled in [true, false] {
            var route = started(instance("core: {sync: true}\nandroid: {enabled: \(!isDisabled)}"))
            route.handle(.posting([1]), at: .zero)
            route.handle(answered(Self.fails), at: .zero)
            let view = RouteView(route, at: .zero)
            #expect(view.healthIssues == (isDisabled ? [] : ["gone"]))
            #expect(view.warnings.contains { $0.contains("android.enabled") } == isDisabled)
        }
    }

    // MARK: Bundle ids that may be invented

    @Test func `Attempts with bundle ids that never worked are few, until one works or is known`() {
        let pushes = queued((0..<200).map { iosPush($0, topic: "invented-\($0)") })
        var route = started()
        func admittedCount(at now: Duration) -> Int { route.admitted(pushes, at: now).count }
        #expect(admittedCount(at: .zero) == Probation.burst)
        #expect(admittedCount(at: .zero) == 0)
        // What says nothing of the bundle id costs nothing of the budget.
        route.record(pushes.prefix(Probation.burst).map { ($0, .notSent(reason: "")) })
        #expect(admittedCount(at: .zero) == Probation.burst)
        route.record(pushes.prefix(Probation.burst).map { ($0, .failed(Failure(kind: .topic, reason: "TopicDisallowed"))) })
        #expect(admittedCount(at: .seconds(9)) == 0)
        #expect(admittedCount(at: .seconds(10)) == 1)
        #expect(admittedCount(at: .seconds(3_600)) == Probation.burst)

        let honest = queued((0..<200).map { iosPush($0, topic: "app") })
        #expect(route.admitted(honest, at: .seconds(3_600)).isEmpty)
        route.handle(.answered(.works, delivered(), jitter: 1), at: .seconds(3_600))
        #expect(route.admitted(honest, at: .seconds(3_600)).count == 200)
        var configured = started { $0.knownTopics = ["app"] }
        #expect(configured.admitted(honest, at: .zero).count == 200)
        var asynchronous = started(instance("core: {sync: false}"))
        #expect(asynchronous.admitted(honest, at: .zero).count == 200)
        #expect(configured.admitted(queued((0..<200).map { androidPush($0) }), at: .zero).count == 200)
    }

    @Test func `With the first push that a bundle id takes, what waits for that is looked at`() {
        var route = started()
        #expect(route.next(at: .zero) == .look(requests: 32, batch: nil))
        route.handle(.answered(.works, delivered(), jitter: 1), at: .zero)
        #expect(route.next(at: .zero) == .hasten)
        #expect(route.next(at: .zero) == .look(requests: 32, batch: nil))
        route.handle(.answered(.works, delivered(), jitter: 1), at: .zero)
        #expect(route.next(at: .zero) == .look(requests: 32, batch: nil))
    }

    @Test func `A surge ends when nothing waits for its end any more`() {
        var route = started()
        route.handle(.answered(.works, verdicts(0..<30, areTurnedDown: true), jitter: 1), at: .zero)
        #expect(route.next(at: .zero) == .look(requests: 32, batch: nil))
        route.handle(.nothingDue(until: .seconds(60)), at: .zero)
        #expect(route.isSurge(at: .zero))
        #expect(route.next(at: .seconds(29)) == .wait(until: .seconds(30)))
        route.handle(.woken, at: .seconds(29))
        #expect(route.next(at: .seconds(29)) == .look(requests: 32, batch: nil))
        route.handle(.nothingDue(until: nil), at: .seconds(29))
        #expect(!route.isSurge(at: .seconds(29)))
    }

    @Test(
        "Feedback counts where the answer has not said the same before",
        arguments: [("sync: true", false), ("sync: false", true), ("", true)])
    func feedback(core: String, counts: Bool) {
        var route = started(instance("core: {\(core)}"))
        for device in 0..<30 { route.handle(.reported(verdicts(device..<device + 1, areTurnedDown: true)), at: .zero) }
        #expect(route.isSurge(at: .zero) == counts)
    }

    private func refused(_ words: String) -> Verdicts {
        var verdicts = Verdicts()
        verdicts.credentialFault = words
        return verdicts
    }

    private func delivered(_ topic: String = "app") -> Verdicts {
        var verdicts = Verdicts()
        verdicts.deliveredTopics = [topic]
        return verdicts
    }

    @Test func `Credentials that Apple or Google refuses are told within 10 seconds, and the first success wakes what waits`() {
        for (platform, name) in [(GorushPlatform.ios, "Apple"), (.android, "Google")] {
            var route = route(.platform(platform))
            #expect(route.next(at: .zero) == .probe)
            route.handle(.probed(.silent), at: .zero)
            #expect(route.next(at: .zero) == .expire)
            #expect(route.next(at: .zero) == .look(requests: 32, batch: nil))
            route.handle(.nothingDue(until: .seconds(60)), at: .zero)
            route.handle(.topicsSaved(["app"]), at: .seconds(1))
            route.handle(.answered(.works, delivered(), jitter: 1), at: .seconds(1))
            route.handle(.answered(.works, refused("InvalidProviderToken"), jitter: 1), at: .seconds(1))
            #expect(RouteView(route, at: .seconds(1)).healthIssues == [])
            // It looks up by itself to tell.
            #expect(route.next(at: .seconds(1)) == .wait(until: .seconds(6)))
            #expect(RouteView(route, at: .seconds(6)).healthIssues == ["\(name) refuses gorush's credentials: InvalidProviderToken"])
            #expect(RouteView(route, at: .seconds(6)).refusesCredentials)
            route.handle(.answered(.works, delivered(), jitter: 1), at: .seconds(20))
            #expect(RouteView(route, at: .seconds(20)).healthIssues == [])
            #expect(route.next(at: .seconds(20)) == .hasten)
            #expect(route.next(at: .seconds(20)) == .wait(until: .seconds(30)))
        }
    }

    @Test func `One refusal between successes is not the credentials' fault, and without news there is none`() {
        var route = started()
        for second in 0..<60 {
            let verdicts = second.isMultiple(of: 4) ? delivered() : refused("x")
            route.handle(.answered(.works, verdicts, jitter: 1), at: .seconds(second))
            #expect(RouteView(route, at: .seconds(second)).healthIssues == [])
        }
        #expect(!RouteView(route, at: .seconds(100)).healthIssues.isEmpty)
        #expect(RouteView(route, at: .seconds(100) + CredentialFault.holdingTime).healthIssues == [])
    }

    @Test func `A success in gorush's queue says nothing of the credentials`() {
        let push = queued([iosPush(1)])[0]
        for (core, isProof) in [("sync: true", true), ("", true), ("sync: false", false)] {
            var route = started(instance("core: {\(core)}"))
            route.handle(.reported(refused("x")), at: .zero)
            route.handle(.answered(.works, refused("x"), jitter: 1), at: .zero)
            route.handle(
                .answered(.works, Verdicts([(push, .sent)], successIsProof: route.successIsProof), jitter: 1), at: .seconds(6))
            #expect(RouteView(route, at: .seconds(6)).healthIssues.isEmpty == isProof)
        }
    }

    @Test(
        "A bundle id that Apple refuses is trouble if it is one of ours, or has worked",
        arguments: [(["app"], false, true), ([], true, true), ([], false, false)])
    func topics(configured: [String], hasWorked: Bool, isIssue: Bool) {
        var route = started { $0.knownTopics = Set(configured) }
        if hasWorked { route.handle(.answered(.works, delivered(), jitter: 1), at: .zero) }
        var verdicts = Verdicts()
        verdicts.refusedTopics = ["app": "TopicDisallowed"]
        route.handle(.answered(.works, verdicts, jitter: 1), at: .zero)
        #expect(RouteView(route, at: .zero).healthIssues == (isIssue ? ["Apple refuses the bundle id app: TopicDisallowed"] : []))
        route.handle(.answered(.works, delivered(), jitter: 1), at: .seconds(1))
        #expect(RouteView(route, at: .seconds(1)).healthIssues == [])
    }

    // MARK: Idleness

    @Test func `A route is idle when only time can bring something`() {
        var route = route()
        #expect(route.idleUntil(at: .zero) == nil)
        _ = route.next(at: .zero)
        #expect(route.next(at: .zero) == .wait(until: .seconds(30)))
        #expect(route.idleUntil(at: .zero) == nil)  // it asks gorush
        route.handle(.probed(.silent), at: .zero)
        #expect(route.next(at: .zero) == .expire)
        #expect(route.next(at: .zero) == .look(requests: 32, batch: nil))
        #expect(route.idleUntil(at: .zero) == nil)  // it looks
        route.handle(.nothingDue(until: .seconds(7)), at: .zero)
        #expect(route.next(at: .zero) == .wait(until: .seconds(7)))
        #expect(route.idleUntil(at: .zero) == .seconds(7))
        #expect(route.idleUntil(at: .seconds(7)) == nil)  // it is due
        route.handle(.woken, at: .zero)
        #expect(route.idleUntil(at: .zero) == nil)
        _ = route.next(at: .zero)
        route.handle(.posting([1]), at: .zero)
        _ = route.next(at: .zero)
        route.handle(.nothingDue(until: nil), at: .zero)
        #expect(route.next(at: .zero) == .wait(until: .seconds(30)))
        #expect(route.idleUntil(at: .zero) == nil)  // a request is under way
        route.handle(.ended(1), at: .zero)
        _ = route.next(at: .zero)
        route.handle(.nothingDue(until: nil), at: .zero)
        _ = route.next(at: .zero)
        #expect(route.idleUntil(at: .zero) == .seconds(30))
    }
}
