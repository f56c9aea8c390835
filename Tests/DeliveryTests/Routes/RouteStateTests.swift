import Concurrency
import Store
import TestSupport
import Testing

@testable import Delivery

/// When a route looks at its queue, how much goes out, and what it does in trouble: without HTTP, a database or a clock.
@Suite(.safetyNet) struct RouteStateTests: RouteStateSuite {
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
        #expect(RouteView(route, at: .zero).mayPost == isProof)
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

    @Test func `While more is due than may go out, room for a quarter of the requests is gathered, and not for long`() {
        var route = started()
        #expect(route.next(at: .zero) == .look(requests: 32, batch: nil))
        route.handle(.posting([Int](repeating: 1, count: 32)), at: .zero)
        for _ in 1...7 { route.handle(.ended(1), at: .zero) }
        #expect(route.next(at: .zero) == .wait(until: RouteState.gatheringTime))
        var patient = route
        #expect(patient.next(at: RouteState.gatheringTime) == .look(requests: 7, batch: nil))
        route.handle(.ended(1), at: .zero)
        #expect(route.next(at: .zero) == .look(requests: 8, batch: nil))
        // Fewer are due than may go out: what comes next goes at once.
        route.handle(.posting([Int](repeating: 1, count: 7)), at: .zero)
        #expect(route.next(at: .zero) == .look(requests: 1, batch: nil))
    }

    @Test func `No more notifications are under way than are allowed, nor than half of gorush's queue for all its routes`() {
        var few = started {
            $0.batchMode = .batch; $0.maximumNotificationsInFlight = 250
        }
        #expect(few.next(at: .zero) == .look(requests: 2, batch: 100))
        few.handle(.posting([100, 100]), at: .zero)
        #expect(few.next(at: RouteState.gatheringTime) == .look(requests: 1, batch: 100))
        few.handle(.posting([50]), at: .zero)
        #expect(few.next(at: .zero) == .wait(until: .seconds(30)))
        few.handle(.ended(100), at: .zero)
        #expect(few.next(at: RouteState.gatheringTime) == .look(requests: 1, batch: 100))

        var small = started(instance("core: {queue_num: 60}"), routesOfEndpoint: 3)
        #expect(small.next(at: .zero) == .look(requests: 10, batch: nil))
        small.handle(.posting([Int](repeating: 1, count: 10)), at: .zero)
        #expect(small.next(at: .zero) == .wait(until: .seconds(30)))
        var tiny = started(instance("core: {queue_num: 1}"), routesOfEndpoint: 3)
        #expect(tiny.next(at: .zero) == .look(requests: 1, batch: nil))
    }

    @Test func `A limit that gorush names is kept until it says otherwise`() {
        var route = started(instance("core: {sync: true}")) { $0.batchMode = .batch }
        route.handle(.limited(7), at: .zero)
        #expect(route.next(at: .zero) == .look(requests: 32, batch: 7))
        route.handle(.limited(70), at: .zero)
        route.handle(.woken, at: .zero)
        #expect(route.next(at: .zero) == .look(requests: 32, batch: 7))
        route.handle(.probed(instance("core: {sync: true}")), at: .zero)
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
        var route = retrying()
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
        route.unsettled = [unknown(1)]
        #expect(route.next(at: .zero) == .settle)
        route.unsettled = []
        #expect(route.idleUntil(at: .zero) == nil)  // what became of one is being written
        #expect(route.next(at: .zero) == .wait(until: .seconds(30)))
        route.handle(.ended(1), at: .zero)
        #expect(route.next(at: .zero) == .look(requests: 32, batch: nil))  // for what is left
        route.handle(.nothingDue(until: nil), at: .zero)
        _ = route.next(at: .zero)
        #expect(route.idleUntil(at: .zero) == .seconds(30))
    }

    // MARK: What became of pushes

    @Test func `What became of pushes is written with what goes out next, and alone when nothing does`() {
        var route = started()
        route.unsettled = [unknown(1)]
        // The transaction of what is found takes it along.
        #expect(route.next(at: .zero) == .look(requests: 32, batch: nil))
        route.handle(.posting([Int](repeating: 1, count: 32)), at: .zero)
        #expect(route.next(at: .zero) == .settle)  // nothing can go out
        route.handle(.ended(1), at: .zero)
        #expect(route.next(at: .zero) == .wait(until: RouteState.gatheringTime))  // there will be room
        #expect(route.next(at: RouteState.gatheringTime) == .look(requests: 1, batch: nil))
        route.handle(.nothingDue(until: nil), at: RouteState.gatheringTime)
        #expect(route.next(at: RouteState.gatheringTime) == .settle)
        route.unsettled = []
        #expect(route.next(at: RouteState.gatheringTime) == .wait(until: .seconds(30)))
    }

    @Test func `What became of pushes is written before those are looked for that failed for the same reason`() {
        var route = started()
        route.handle(.answered(.works, refused("ExpiredProviderToken"), jitter: 0), at: .zero)
        route.handle(.answered(.works, delivered(), jitter: 0), at: .zero)
        route.unsettled = [unknown(1)]
        #expect(route.next(at: .zero) == .settle)
        route.unsettled = []
        #expect(route.next(at: .zero) == .hasten)
    }

    @Test func `A route that stops waits for what is under way, and writes what became of it as it comes`() {
        var route = started()
        route.handle(.posting([1, 1]), at: .zero)
        route.handle(.stopping, at: .zero)
        #expect(route.next(at: .zero) == .wait(until: .seconds(30)))
        route.unsettled = [unknown(1)]
        route.handle(.ended(1), at: .zero)
        #expect(route.next(at: .zero) == .settle)
        // It could not.
        route.handle(.storeFailed("full"), at: .zero)
        #expect(route.next(at: .zero) == .wait(until: RouteState.storeRetryInterval))
        #expect(route.next(at: RouteState.storeRetryInterval) == .settle)
        route.unsettled = []
        #expect(route.next(at: .seconds(2)) == .wait(until: .seconds(32)))
        route.handle(.ended(1), at: .seconds(2))
        #expect(route.next(at: .seconds(2)) == .stop)
    }

    @Test func `Whoever waits is woken when there is something to do, and not before`() {
        var route = started()
        #expect(!route.mustWake(at: .zero))  // it will ask
        _ = route.next(at: .zero)
        route.handle(.posting([Int](repeating: 1, count: 32)), at: .zero)
        #expect(route.next(at: .zero) == .wait(until: .seconds(30)))
        #expect(!route.mustWake(at: .zero))
        route.handle(.ended(1), at: .zero)
        #expect(route.mustWake(at: .zero))  // to gather for a shorter time
        #expect(route.next(at: .zero) == .wait(until: RouteState.gatheringTime))
        for _ in 2...7 {
            route.handle(.ended(1), at: .zero)
            #expect(!route.mustWake(at: .zero))
        }
        route.handle(.ended(1), at: .zero)
        #expect(route.mustWake(at: .zero))
        #expect(route.next(at: .zero) == .look(requests: 8, batch: nil))
        #expect(!route.mustWake(at: .zero))
    }

    private func unknown(_ number: Int64) -> Outbox.Attempt {
        Outbox.Attempt(
            push: QueuedPush(id: number, message: 1, push: androidPush(Int(number)), acceptedAt: World.start),
            outcome: .unknown(reason: "no answer"), at: World.start)
    }
}
