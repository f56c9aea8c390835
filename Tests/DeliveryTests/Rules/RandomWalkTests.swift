import Store
import TestSupport
import Testing

@testable import Delivery

/// Routes and their parts through random events, with a wall clock that also jumps back: at rest nothing is left over.
@Suite(.safetyNet) struct RandomWalkTests {
    /// What Apple, Google, gorush and the network do to an attempt.
    private static let responses: [RouteSimulation.Response] = [
        .delivered, .words("Requested entity was not found."), .words("Request contains an invalid argument."),
        .words("The service is currently unavailable."), .words("Quota exceeded for quota metric 'x'"), .words("some new text"),
        .words("Request is missing required authentication credential."), .silence, .unavailable, .lost,
    ]

    @Test(arguments: 1...6 as ClosedRange<UInt64>)
    func `whatever happens, each push ends once, and then the route holds nothing`(seed: UInt64) async throws {
        var random = SplitMix64(seed: seed)
        var route = RouteSimulation(provenDevices: 0..<8, recentDevices: Int.random(in: 0...8, using: &random))
        route.random = random
        for _ in 0..<8 {
            let end = route.now + .seconds(Int.random(in: 20...900, using: &random))
            // In a phase each device has a handful of fates.
            let fates = (0..<12).map { _ in
                (0...Int.random(in: 0...2, using: &random)).compactMap { _ in Self.responses.randomElement(using: &random) }
            }
            let start = route.now
            let interval = Duration.seconds(Int.random(in: 1...20, using: &random))
            let restarts = Bool.random(using: &random) ? [start + (end - start) * Double.random(in: 0...1, using: &random)] : []
            route.wallClockLead = .seconds(Int.random(in: -7_200...7_200, using: &random))
            try await route.run(until: end, arrivals: pushes(to: 0..<12, from: start, every: interval, until: end), restarts: restarts) {
                device, _, random in fates[device].randomElement(using: &random) ?? .delivered
            }
            if Int.random(in: 0..<4, using: &random) == 0 {
                await route.setStoreFails(true)
                try await route.run(until: route.now + .seconds(30), arrivals: []) { _, _, _ in .delivered }
                await route.setStoreFails(false)
            }
        }
        route.wallClockLead = .zero
        // Longer than any delay.
        try await route.run(until: route.now + minutes(30), arrivals: []) { _, _, _ in .delivered }
        route.report("random walk \(seed)")
        #expect(route.count(nil) == 0 && route.remains == [] && route.conditions == [])
        // All of it works as if nothing had happened.
        let start = route.now
        let live = (0..<12).filter { route.unregistered[$0] == nil }
        try await route.run(until: start + minutes(1), arrivals: live.map { (start, $0) }) { _, _, _ in .delivered }
        let new = route.pushes.values.filter { $0.acceptedAt >= start }
        #expect(new.count == live.count && new.allSatisfy { $0.delay.map { $0 < .seconds(1) } ?? false })
    }

    @Test(arguments: 1...5 as ClosedRange<UInt64>)
    func `a breaker permits one trial at a time, and never closes for good`(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        var breaker = Breaker()
        var (now, inFlight, trials) = (Duration.zero, 0, 0)
        for _ in 0..<2_000 {
            now = max(.zero, now + .milliseconds(Int.random(in: -2_000...2_000, using: &random)))
            switch Int.random(in: 0..<4, using: &random) {
            case 0:
                let permits = breaker.permits(at: now)
                if permits > 0 {
                    if breaker.state != .closed { trials += 1 }
                    breaker.begin()
                    inFlight += 1
                }
            case 1 where inFlight > 0:
                breaker.succeed()
                inFlight -= 1
                if case .open = breaker.state {} else { trials = 0 }
            case 2 where inFlight > 0:
                let delay = Bool.random(using: &random) ? Duration.seconds(Int.random(in: 0...60, using: &random)) : nil
                breaker.fail(at: now, retryAfter: delay, jitter: Double.random(in: 0...1, using: &random))
                inFlight -= 1
                trials = 0
            default: breaker.reset()
            }
            #expect(trials <= 1)
            if case .open(let until, _) = breaker.state { #expect(breaker.permits(at: until) == 1) }
            if case .trial = breaker.state { #expect(inFlight > 0 && breaker.permits(at: now + hours(1)) == 0) }
        }
        // The last ones end, and one succeeds.
        if case .open(let until, _) = breaker.state {
            #expect(breaker.permits(at: until) == 1)
            breaker.begin()
        }
        breaker.succeed()
        #expect(breaker.permits(at: now) == .max)
    }

    @Test(arguments: 1...5 as ClosedRange<UInt64>)
    func `the budget for unproven bundle ids is full once its attempts have ended and time has passed`(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        var budget = UnprovenBundleIDBudget()
        var now = Duration.zero
        var inFlight: [QueuedPush] = []
        var (taken, refused) = (0, 0)
        let pushes = queued((0..<500).map { iosPush($0, topic: "invented") })
        for push in pushes {
            now += .seconds(Int.random(in: 0...4, using: &random))
            if budget.take(push, at: now) {
                inFlight.append(push)
                taken += 1
            }
            if Bool.random(using: &random), !inFlight.isEmpty {
                let isRefused = Bool.random(using: &random)
                if isRefused { refused += 1 }
                budget.ended(inFlight.remove(at: Int.random(in: 0..<inFlight.count, using: &random)), isRefused: isRefused)
            }
            // Those that are in flight or were refused.
            #expect(refused + inFlight.count <= UnprovenBundleIDBudget.burst + Int(now / UnprovenBundleIDBudget.interval))
        }
        for push in inFlight { budget.ended(push, isRefused: false) }
        now += UnprovenBundleIDBudget.interval * UnprovenBundleIDBudget.burst
        #expect(pushes.prefix(30).count { budget.take($0, at: now) } == UnprovenBundleIDBudget.burst)
    }

    @Test(arguments: 1...5 as ClosedRange<UInt64>)
    func `a window stays within its bounds, and is free once its requests have ended`(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        let configuration = DeliveryConfiguration(endpoint: .init(url: "http://gorush"))
        var congestion = CongestionWindow(configuration: configuration)
        let profile = GorushProfile(
            route: .init(name: "", pushes: .platform(.android)), configuration: configuration, routesOfEndpoint: 1)
        var requests: [Int] = []
        for _ in 0..<3_000 {
            let batch = Bool.random(using: &random) ? nil : congestion.batch(workers: nil)
            let capacity = congestion.capacity(batch: batch, profile: profile)
            #expect(capacity >= 0)
            if capacity > 0, Bool.random(using: &random) {
                let posted = (0..<Int.random(in: 1...capacity, using: &random)).map { _ in Int.random(in: 1...(batch ?? 1), using: &random)
                }
                congestion.posted(posted)
                requests += posted
            } else if !requests.isEmpty {
                switch Int.random(in: 0..<4, using: &random) {
                case 0: congestion.failed()
                case 1: congestion.limitBatch(to: Int.random(in: 1...100, using: &random))
                default: congestion.succeeded()
                }
                congestion.ended(requests.remove(at: Int.random(in: 0..<requests.count, using: &random)))
            }
            #expect((CongestionWindow.minimumWindow...configuration.maximumRequestsInFlight).contains(congestion.window))
            #expect(congestion.requestsInFlight == requests.count && congestion.notificationsInFlight == requests.reduce(0, +))
            #expect(congestion.requestsInFlight <= configuration.maximumRequestsInFlight && congestion.batch(workers: nil) >= 1)
        }
        for request in requests { congestion.ended(request) }
        #expect(congestion.requestsInFlight == 0 && congestion.notificationsInFlight == 0)
        #expect(congestion.capacity(batch: nil, profile: profile) == congestion.window)
    }
}
