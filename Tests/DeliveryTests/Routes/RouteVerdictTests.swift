import Concurrency
import Store
import TestSupport
import Testing

@testable import Delivery

/// What a route makes of verdicts on devices, credentials and bundle ids, and what an operator hears of it.
@Suite(.safetyNet) struct RouteVerdictTests: RouteStateSuite {
    // MARK: Surges

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
        var route = started()
        var refusal = Verdicts()
        refusal.refusal = "BadDeviceToken"
        route.handle(.answered(.works, refusal, jitter: 1), at: .zero)
        #expect(RouteView(route, at: .zero).warnings.count == 1)
        route.handle(.answered(.works, delivered(), jitter: 1), at: .zero)
        #expect(RouteView(route, at: .zero).warnings.isEmpty)
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

    // MARK: Credentials

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
            #expect(route.next(at: .seconds(20)) == .look(requests: 32, batch: nil))
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
}
