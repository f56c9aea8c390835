import Store
import TestSupport
import Testing

@testable import Delivery

/// The four rules of DELIVERY.md on a server that is killed again and again. The store keeps suspicions, refusals and deliveries; what else
/// a route knows is forgotten, and that may delay a conclusion, but never cause a wrong one.
@Suite(.safetyNet) struct RestartTests {
    private static let notFound = RouteSimulation.Response.words("Requested entity was not found.")
    private static let mismatch = RouteSimulation.Response.words("SenderId mismatch")

    /// Times at random distances.
    private func restarts(after shortest: Duration, upTo longest: Duration, until end: Duration, seed: UInt64) -> [Duration] {
        var random = SplitMix64(seed: seed)
        var times: [Duration] = []
        var time = Duration.zero
        while time < end {
            time += shortest + (longest - shortest) * Double.random(in: 0...1, using: &random)
            times.append(time)
        }
        return times
    }

    @Test(arguments: 1...3 as ClosedRange<UInt64>)
    func `two gorush behind one address cost no phone on a server that is restarted every few minutes`(seed: UInt64) async throws {
        var route = RouteSimulation(provenDevices: 0..<40, recentDevices: 40)
        route.random = SplitMix64(seed: seed)
        let end = hours(3)
        let times = restarts(after: minutes(2), upTo: minutes(15), until: end, seed: seed)
        try await route.run(until: end, arrivals: pushes(to: 0..<40, every: .seconds(4), until: end), restarts: times) { _, _, random in
            Bool.random(using: &random) ? Self.mismatch : .delivered
        }
        route.report("balancer and restarts")
        #expect(route.unregistered.isEmpty && route.firstTold[.mixed] != nil && route.firstTold[.failing] == nil)
    }

    @Test func `a wrong project costs no phone and no push on a server that is restarted every two minutes`() async throws {
        var route = RouteSimulation(provenDevices: 0..<30, recentDevices: 30)
        let (start, repair) = (Duration.seconds(100), Duration.seconds(100) + hours(1))
        try await route.run(
            until: repair + minutes(6), arrivals: pushes(to: 0..<30, every: .seconds(5), until: repair),
            restarts: restarts(after: minutes(2), upTo: minutes(2), until: repair, seed: 1)
        ) { _, now, _ in start <= now && now < repair ? Self.mismatch : .delivered }
        route.report("wrong project and restarts")
        #expect(route.unregistered.isEmpty && route.count(.sent) == route.pushes.count)
        #expect(route.slowestHealing(after: repair) <= .seconds(31))
    }

    @Test func `an uninstalled phone goes on a server that is restarted every two minutes`() async throws {
        var route = RouteSimulation(provenDevices: 0..<20, recentDevices: 20)
        let end = hours(1)
        try await route.run(
            until: end, arrivals: pushes(to: 0..<20, every: .seconds(1), until: end),
            restarts: restarts(after: minutes(2), upTo: minutes(2), until: end, seed: 1)
        ) { device, _, _ in device == 19 ? Self.notFound : .delivered }
        route.report("a dead phone and restarts")
        #expect(Set(route.unregistered.keys) == [19])
        #expect(try #require(route.unregistered[19]) < minutes(30))
        #expect(
            route.pushes.values.allSatisfy { $0.device == 19 || $0.delay.map { $0 < .seconds(2) } ?? ($0.acceptedAt > end - .seconds(2)) })
    }
}
