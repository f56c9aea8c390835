import Store
import Tasks
import TestSupport
import Testing

@testable import Delivery

/// The polls of a route, its batch sizes, and its behaviour during outages, without HTTP, a database or a clock.
@Suite(.safetyNet) struct RouteStateTests: RouteStateSuite {
    /// Returns the state of a route as operators see it.
    private func report(_ route: RouteState, at now: Duration) -> RouteReport {
        RouteReport(route, name: "first", platform: .android, gorushURL: "http://gorush", at: now)
    }

    // MARK: The queue

    @Test func `the route posts no push before it has read gorush's configuration`() {
        var route = route()
        #expect(route.next(at: .zero) == .probe)
        #expect(RouteStatus(route, at: .zero).healthIssues == ["gorush has not responded yet"])
        #expect(report(route, at: .zero).issues == [.gorush("gorush has not responded yet")])
        route.handle(.woken, at: .zero)
        #expect(route.next(at: .zero) == .wait(until: Schedule.longestPause))
        route.handle(.probed(.unreachable(.init())), at: .seconds(5))
        #expect(route.next(at: .seconds(5)) == .expire)
        #expect(route.next(at: .seconds(5)) == .postDue(requests: 32, batchSize: nil))
    }

    @Test(arguments: [(nil, false), ("{}", true), ("core: {sync: true}", true), ("core: {sync: false}", false)])
    func `a route posts after the first probe unless gorush reports asynchronous mode`(core: String?, isConfirmed: Bool) {
        var route = route()
        if let core { route.handle(.probed(instance(core)), at: .zero) }
        #expect(RouteStatus(route, at: .zero).mayPost == isConfirmed)
    }

    @Test func `a route polls its queue until no push is due, and then at the due time of the next`() {
        var route = started()
        #expect(route.next(at: .zero) == .postDue(requests: 32, batchSize: nil))
        route.handle(.posting([1, 1]), at: .zero)
        #expect(route.next(at: .zero) == .postDue(requests: 30, batchSize: nil))
        route.handle(.nothingDue(until: .seconds(7)), at: .zero)
        #expect(route.next(at: .zero) == .wait(until: .seconds(7)))
        #expect(route.next(at: .seconds(7)) == .postDue(requests: 30, batchSize: nil))
    }

    @Test("A route polls a quiet queue every 30 s", arguments: [nil, Duration.seconds(3_600)])
    func quiet(next: Duration?) {
        var route = started()
        #expect(route.next(at: .zero) == .postDue(requests: 32, batchSize: nil))
        route.handle(.nothingDue(until: next), at: .zero)
        #expect(route.next(at: .zero) == .wait(until: .seconds(30)))
        #expect(route.next(at: .seconds(30)) == .probe)
        #expect(route.next(at: .seconds(30)) == .expire)
        #expect(route.next(at: .seconds(30)) == .postDue(requests: 32, batchSize: nil))
    }

    @Test func `new pushes are read at once, also if they came during a read`() {
        var route = started()
        #expect(route.next(at: .zero) == .postDue(requests: 32, batchSize: nil))
        route.handle(.woken, at: .zero)
        route.handle(.nothingDue(until: .seconds(7)), at: .zero)
        #expect(route.next(at: .zero) == .postDue(requests: 32, batchSize: nil))
        route.handle(.nothingDue(until: nil), at: .zero)
        #expect(route.next(at: .zero) == .wait(until: .seconds(30)))
        route.handle(.woken, at: .seconds(1))
        #expect(route.next(at: .seconds(1)) == .postDue(requests: 32, batchSize: nil))
    }

    @Test func `expired pushes are looked for every half minute, also while the route is full or paused`() {
        var full = started { $0.maximumRequestsInFlight = 1 }
        full.handle(.posting([1]), at: .zero)
        #expect(full.next(at: .seconds(29)) == .wait(until: .seconds(30)))
        #expect(full.next(at: .seconds(30)) == .probe)
        #expect(full.next(at: .seconds(30)) == .expire)
        var broken = started()
        broken.handle(.answered(.failing(issue: "", retryAfter: .seconds(3_600)), [], jitter: 1), at: .zero)
        #expect(broken.next(at: .zero) == .probe)
        broken.handle(.probed(.silent), at: .seconds(27))
        #expect(broken.next(at: .seconds(30)) == .expire)
        #expect(broken.next(at: .seconds(30)) == .wait(until: .seconds(31)))
    }

    @Test func `a route leaves a failed store alone for a second, and then looks for expired pushes first`() {
        var route = started()
        #expect(route.next(at: .zero) == .postDue(requests: 32, batchSize: nil))
        route.handle(.storeFailed("full"), at: .seconds(1))
        route.handle(.woken, at: .seconds(1))
        #expect(route.next(at: .seconds(1)) == .wait(until: .seconds(2)))
        #expect(RouteStatus(route, at: .seconds(1)).healthIssues == ["the outbox cannot be used: full"])
        #expect(report(route, at: .seconds(1)).issues == [.outbox("the outbox cannot be used: full")])
        #expect(route.next(at: .seconds(2)) == .expire)
        #expect(route.next(at: .seconds(2)) == .postDue(requests: 32, batchSize: nil))
        route.handle(.nothingDue(until: nil), at: .seconds(2))
        #expect(RouteStatus(route, at: .seconds(2)).healthIssues == [])
    }

    @Test func `a stopping route begins no work`() {
        var route = started()
        route.handle(.stopping, at: .zero)
        route.handle(.woken, at: .zero)
        #expect(route.next(at: .seconds(9_999)) == .stop)
    }

    // MARK: Batch sizes and the window

    @Test func `the requests in flight stay within the limit`() {
        var route = started { $0.maximumRequestsInFlight = 3 }
        #expect(route.next(at: .zero) == .postDue(requests: 3, batchSize: nil))
        route.handle(.posting([1, 1, 1]), at: .zero)
        #expect(route.next(at: .zero) == .wait(until: .seconds(30)))
        route.handle(.ended(1), at: .zero)
        #expect(route.next(at: .zero) == .postDue(requests: 1, batchSize: nil))
    }

    @Test func `a limit that gorush names applies until the next probe`() {
        var route = started(instance("core: {sync: true}")) { $0.batchMode = .batch }
        route.handle(.limited(7, []), at: .zero)
        #expect(route.next(at: .zero) == .postDue(requests: 32, batchSize: 7))
        route.handle(.limited(70, []), at: .zero)
        route.handle(.woken, at: .zero)
        #expect(route.next(at: .zero) == .postDue(requests: 32, batchSize: 7))
        route.handle(.probed(instance("core: {sync: true}")), at: .zero)
        route.handle(.woken, at: .zero)
        #expect(route.next(at: .zero) == .postDue(requests: 10, batchSize: 100))
    }

    // MARK: Outages

    @Test func `a failing route posts one request at a time, at growing intervals, until one succeeds`() {
        var route = started()
        route.handle(.posting([1, 1]), at: .zero)
        route.handle(answered(Self.failing), at: .zero)
        route.handle(answered(Self.failing), at: .zero)
        for _ in 1...2 { route.handle(.ended(1), at: .zero) }
        var now = Duration.zero
        for failures in 1...5 {
            // gorush may have restarted with another configuration.
            #expect(route.next(at: now) == .probe)
            route.handle(.probed(.silent), at: now)
            let attempt = now + BackOff.route.bound(afterFailures: failures)
            #expect(route.requestCapacity(at: attempt - .milliseconds(1)) == 0 && route.requestCapacity(at: attempt) == 1)
            route.handle(.posting([1]), at: attempt)
            // The response to this request decides.
            #expect(route.requestCapacity(at: attempt + .seconds(20)) == 0)
            route.handle(answered(Self.failing), at: attempt)
            route.handle(.ended(1), at: attempt)
            #expect(RouteStatus(route, at: attempt).healthIssues == ["gone"])
            now = attempt
        }
    }

    @Test func `one successful request ends the outage, with half of the earlier window`() {
        var route = retrying()
        route.handle(.posting([1]), at: .seconds(4))
        route.handle(answered(.healthy), at: .seconds(4))
        route.handle(.ended(1), at: .seconds(4))
        #expect(RouteStatus(route, at: .seconds(4)).healthIssues == [])
        #expect(route.requestCapacity(at: .seconds(4)) == 16)
    }

    @Test func `the success of a request posted before a failure does not end the outage`() {
        var route = started()
        route.handle(.posting([1, 1]), at: .zero)
        route.handle(answered(Self.failing), at: .zero)
        route.handle(answered(.healthy), at: .zero)
        #expect(RouteStatus(route, at: .zero).healthIssues == ["gone"])
        #expect(RouteStatus(route, at: .zero).isBreakerOpen)
        #expect(report(route, at: .zero).issues == [.gorush("gone")] && report(route, at: .zero).isBreakerOpen)
    }

    @Test func `the route posts no push before the time that gorush named`() {
        var route = started()
        route.handle(.answered(.failing(issue: "busy", retryAfter: .seconds(20)), [], jitter: 0), at: .zero)
        #expect(route.requestCapacity(at: .seconds(19)) == 0 && route.requestCapacity(at: .seconds(20)) == 1)
    }

    @Test func `pushes that were read while the route failed are not posted`() {
        var route = started()
        #expect(route.next(at: .zero) == .postDue(requests: 32, batchSize: nil))
        #expect(route.requestCapacity(at: .zero) == 32)
        route.handle(answered(Self.failing), at: .zero)
        #expect(route.requestCapacity(at: .zero) == 0)
    }

    @Test func `while gorush works and the route fails, one push at a time is attempted, and invented tokens delay no other`() {
        var route = started()
        for (second, number) in [(0, 1), (60, 2)] {
            route.handle(.posting([1]), at: .seconds(second))
            route.handle(answered(.healthy, [failed(number, "ServiceUnavailable")]), at: .seconds(second))
            route.handle(.ended(1), at: .seconds(second))
        }
        let start = Duration.seconds(60)
        #expect(RouteStatus(route, at: start).isFailing)
        let words = "Google delivers nothing, not even to devices that have worked: ServiceUnavailable"
        #expect(report(route, at: start).issues == [.provider(words)])
        #expect(RouteReport.text(.provider(words), of: [report(route, at: start)]) == "delivery first: \(words) (http://gorush)")
        #expect(report(route, at: start).failureCount == 2 && report(route, at: start).lastDelivery == nil)
        // After the delay, devices that have worked come first. One that has not failed since is attempted immediately.
        let due = [failed(9, "", isProven: false), failed(1, ""), failed(2, "")].map(\.push)
        #expect(route.candidates(among: due, at: start).isEmpty)
        #expect(route.candidates(among: due + [failed(3, "").push], at: start).map(\.id) == [3])
        #expect(route.candidates(among: due, at: start + .milliseconds(500)).map(\.id) == [1, 2, 9])
        #expect(route.requestCapacity(at: start) == 1)
        route.handle(.posting([1]), at: .seconds(61))
        #expect(route.requestCapacity(at: .seconds(99)) == 0)
        route.handle(answered(.healthy, [failed(3, "BadDeviceToken", isProven: false)]), at: .seconds(61))
        route.handle(.ended(1), at: .seconds(61))
        #expect(route.candidates(among: due, at: .seconds(61)).isEmpty)
        let rules = route.rules(at: .seconds(61), judgingRefusals: true)
        #expect(rules.routeFails && !rules.refusals.believesVerdicts)
        // A delivery ends the outage, and the waiting pushes become due.
        route.handle(.posting([1]), at: .seconds(61))
        route.handle(answered(.healthy, [attempt(4, .sent)]), at: .seconds(62))
        route.handle(.ended(1), at: .seconds(62))
        #expect(RouteStatus(route, at: .seconds(62)).healthIssues == [] && route.requestCapacity(at: .seconds(62)) == 32)
        let report = report(route, at: .seconds(62))
        #expect(report.issues == [] && report.deliveryCount == 1 && report.failureCount == 3 && report.lastDelivery == World.start)
        route.unrecordedOutcomes = []
        #expect(route.next(at: .seconds(62)) == .probe)
        #expect(route.next(at: .seconds(62)) == .retryNow(after: 0))
    }

    @Test func `verdicts are not believed while gorush sends to Apple's other environment`() {
        var route = route(.platform(.ios))
        #expect(route.next(at: .zero) == .probe)
        route.handle(.probed(instance("core: {sync: true}\nios: {enabled: true, production: false}")), at: .zero)
        #expect(!route.rules(at: .zero, judgingRefusals: true).refusals.believesVerdicts)
        route.handle(.probed(instance("core: {sync: true}\nios: {enabled: true, production: true}")), at: .zero)
        #expect(route.rules(at: .zero, judgingRefusals: true).refusals.believesVerdicts)
    }

    @Test func `after a broken connection, gorush is probed before the next post`() {
        var route = started()
        route.handle(.posting([1]), at: .zero)
        route.handle(answered(Self.failing), at: .zero)
        route.handle(.ended(1), at: .zero)
        #expect(route.next(at: .seconds(1)) == .probe)
        #expect(route.next(at: .seconds(4)) == .wait(until: .seconds(30)))
        route.handle(.probed(instance("core: {sync: false}")), at: .seconds(4))
        #expect(RouteStatus(route, at: .seconds(4)).healthIssues.contains { $0.contains("set core.sync: true") })
        #expect(route.next(at: .seconds(4)) == .wait(until: .seconds(8)))
    }

    // MARK: Unproven bundle ids

    @Test func `attempts with unproven bundle ids are limited until one is proven or known`() {
        let pushes = queued((0..<200).map { iosPush($0, topic: "invented-\($0)") })
        var route = started()
        func admittedCount(at now: Duration) -> Int { route.admitted(pushes, at: now).count }
        #expect(admittedCount(at: .zero) == UnprovenBundleIDBudget.burst)
        #expect(admittedCount(at: .zero) == 0)
        // Attempts without a verdict on the bundle id spend no credits.
        route.handle(.notLeased(Array(pushes.prefix(UnprovenBundleIDBudget.burst))), at: .zero)
        #expect(admittedCount(at: .zero) == UnprovenBundleIDBudget.burst)
        let refused = pushes.prefix(UnprovenBundleIDBudget.burst).map {
            PushAttempt(push: $0, outcome: .failed(FailureTaxonomy.classify("TopicDisallowed")), at: World.start)
        }
        route.handle(answered(.healthy, refused), at: .zero)
        #expect(admittedCount(at: .seconds(9)) == 0)
        #expect(admittedCount(at: .seconds(10)) == 1)
        #expect(admittedCount(at: .seconds(3_600)) == UnprovenBundleIDBudget.burst)

        let honest = queued((0..<200).map { iosPush($0) })
        #expect(route.admitted(honest, at: .seconds(3_600)).isEmpty)
        route.handle(answered(.healthy, [attempt(1, .sent)]), at: .seconds(3_600))
        #expect(route.admitted(honest, at: .seconds(3_600)).count == 200)
        var configured = started { $0.knownBundleIDs = ["im.status.ethereum"] }
        #expect(configured.admitted(honest, at: .zero).count == 200)
        #expect(configured.admitted(queued((0..<200).map { androidPush($0) }), at: .zero).count == 200)
    }

    // MARK: Idleness

    @Test func `a route is idle when only the clock can cause events`() {
        var route = route()
        #expect(route.idleUntil(at: .zero) == nil)
        _ = route.next(at: .zero)
        #expect(route.next(at: .zero) == .wait(until: .seconds(30)))
        #expect(route.idleUntil(at: .zero) == nil)  // the route probes gorush
        route.handle(.probed(.silent), at: .zero)
        #expect(route.next(at: .zero) == .expire)
        #expect(route.next(at: .zero) == .postDue(requests: 32, batchSize: nil))
        #expect(route.idleUntil(at: .zero) == nil)  // the route polls its queue
        route.handle(.nothingDue(until: .seconds(7)), at: .zero)
        #expect(route.next(at: .zero) == .wait(until: .seconds(7)))
        #expect(route.idleUntil(at: .zero) == .seconds(7))
        #expect(route.idleUntil(at: .seconds(7)) == nil)  // the push is due
        route.handle(.woken, at: .zero)
        #expect(route.idleUntil(at: .zero) == nil)
        _ = route.next(at: .zero)
        route.handle(.posting([1]), at: .zero)
        _ = route.next(at: .zero)
        route.handle(.nothingDue(until: nil), at: .zero)
        #expect(route.next(at: .zero) == .wait(until: .seconds(30)))
        #expect(route.idleUntil(at: .zero) == nil)  // a request is in flight
        route.unrecordedOutcomes = [unknown(1)]
        #expect(route.next(at: .zero) == .recordOutcomes)
        route.unrecordedOutcomes = []
        #expect(route.idleUntil(at: .zero) == nil)  // the outcome of a push is being recorded
        #expect(route.next(at: .zero) == .wait(until: .seconds(30)))
        route.handle(.ended(1), at: .zero)
        #expect(route.next(at: .zero) == .postDue(requests: 32, batchSize: nil))  // for the remaining pushes
        route.handle(.nothingDue(until: nil), at: .zero)
        _ = route.next(at: .zero)
        #expect(route.idleUntil(at: .zero) == .seconds(30))
    }

    // MARK: Outcomes of pushes

    @Test func `outcomes are recorded with the next leases, and alone without leases`() {
        var route = started()
        route.unrecordedOutcomes = [unknown(1)]
        // The transaction that leases the due pushes records the outcome.
        #expect(route.next(at: .zero) == .postDue(requests: 32, batchSize: nil))
        route.handle(.posting([Int](repeating: 1, count: 32)), at: .zero)
        #expect(route.next(at: .zero) == .recordOutcomes)  // no push can be posted
        route.handle(.ended(1), at: .zero)
        #expect(route.next(at: .zero) == .wait(until: Schedule.gatheringTime))  // the window will have capacity
        #expect(route.next(at: Schedule.gatheringTime) == .postDue(requests: 1, batchSize: nil))
        route.handle(.nothingDue(until: nil), at: Schedule.gatheringTime)
        #expect(route.next(at: Schedule.gatheringTime) == .recordOutcomes)
        route.unrecordedOutcomes = []
        #expect(route.next(at: Schedule.gatheringTime) == .wait(until: .seconds(30)))
    }

    @Test func `a stopping route waits for requests in flight, and records each outcome as it arrives`() {
        var route = started()
        route.handle(.posting([1, 1]), at: .zero)
        route.handle(.stopping, at: .zero)
        #expect(route.next(at: .zero) == .wait(until: .seconds(30)))
        route.unrecordedOutcomes = [unknown(1)]
        route.handle(.ended(1), at: .zero)
        #expect(route.next(at: .zero) == .recordOutcomes)
        // The store rejected the write.
        route.handle(.storeFailed("full"), at: .zero)
        #expect(route.next(at: .zero) == .wait(until: Schedule.storeRetryInterval))
        #expect(route.next(at: Schedule.storeRetryInterval) == .recordOutcomes)
        route.unrecordedOutcomes = []
        #expect(route.next(at: .seconds(2)) == .wait(until: .seconds(32)))
        route.handle(.ended(1), at: .seconds(2))
        #expect(route.next(at: .seconds(2)) == .stop)
    }

    @Test func `a waiting task is woken when there is work, and not before`() {
        var route = started()
        #expect(!route.mustWake(at: .zero))  // the route will poll
        _ = route.next(at: .zero)
        route.handle(.posting([Int](repeating: 1, count: 32)), at: .zero)
        #expect(route.next(at: .zero) == .wait(until: .seconds(30)))
        #expect(!route.mustWake(at: .zero))
        route.handle(.ended(1), at: .zero)
        #expect(route.mustWake(at: .zero))  // to gather for a shorter time
        #expect(route.next(at: .zero) == .wait(until: Schedule.gatheringTime))
        for _ in 2...7 {
            route.handle(.ended(1), at: .zero)
            #expect(!route.mustWake(at: .zero))
        }
        route.handle(.ended(1), at: .zero)
        #expect(route.mustWake(at: .zero))
        #expect(route.next(at: .zero) == .postDue(requests: 8, batchSize: nil))
        #expect(!route.mustWake(at: .zero))
    }

    private func unknown(_ number: Int64) -> PushAttempt {
        PushAttempt(
            push: QueuedPush(id: number, request: 1, push: androidPush(Int(number)), acceptedAt: World.start),
            outcome: .unknown(reason: .noResponse), at: World.start)
    }
}
