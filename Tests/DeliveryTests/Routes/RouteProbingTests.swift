import Concurrency
import Store
import TestSupport
import Testing

@testable import Delivery

/// When a route asks gorush how it is set up and how much waits there, and what it makes of the answer.
@Suite(.safetyNet) struct RouteProbingTests: RouteStateSuite {
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
        var route = started(instance("core: {worker_num: 7}"))
        route.handle(.probed(.unreachable), at: .zero)
        #expect(route.next(at: .zero) == .look(requests: 7, batch: nil))
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
            var route = retrying()
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
        var route = started(instance("core: {sync: true}")) { $0.batchMode = .batch }
        func batch() -> Int? {
            var copy = route
            while true {
                switch copy.next(at: .seconds(100)) {
                case .look(_, let batch): return batch
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
}
