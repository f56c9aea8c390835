import Store
import TestSupport
import Testing

@testable import Delivery

/// The four rules of DELIVERY.md with as many devices and pushes as an attack or an outage of a large server has.
@Suite(.fewAtATime) struct LargeSimulationTests {
    private static let notFound = RouteSimulation.Response.words("Requested entity was not found.")

    @Test func `ten thousand invented tokens delay nobody on a busy server, and are gone soon`() async throws {
        var route = RouteSimulation(provenDevices: 0..<100, recentDevices: 40)
        let invented = 1_000..<11_000
        let arrivals =
            pushes(to: 0..<100, every: .milliseconds(500), until: minutes(24))
            + pushes(to: invented, every: .milliseconds(10), until: .seconds(100))
        try await route.run(until: minutes(25), arrivals: arrivals) { device, _, _ in invented.contains(device) ? Self.notFound : .delivered
        }
        route.report("10,000 invented tokens")
        let honest = route.pushes.values.filter { $0.device < 100 }
        #expect(honest.allSatisfy { $0.delay.map { $0 < .seconds(2) } ?? false })
        #expect(invented.allSatisfy { route.postCounts[$0, default: 0] <= OutcomeRules.maximumAttemptsOfUnproven })
        #expect(route.firstTold.isEmpty && route.unregistered.keys.allSatisfy(invented.contains))
        #expect(route.pushes.values.allSatisfy { $0.outcome != nil })
        #expect(try #require(route.unregistered.values.max()) < minutes(21))
    }

    @Test func `fifty thousand pushes that waited during an outage go in rounds, each once`() async throws {
        var route = RouteSimulation(provenDevices: 0..<5_000, recentDevices: 40)
        let repair = minutes(10)
        // Ten pushes to each device, and after the repair the first one to another.
        let arrivals =
            pushes(to: 0..<4_999, every: .milliseconds(12), until: repair) + [(time: repair + .seconds(32), device: 4_999)]
        #expect(arrivals.count > 50_000)
        try await route.run(until: repair + minutes(8), arrivals: arrivals) { _, now, _ in
            now < repair ? .words("The service is currently unavailable.") : .delivered
        }
        route.report("50,000 waiting")
        #expect(route.count(.sent) == route.pushes.count && route.unregistered.isEmpty && route.conditions.isEmpty)
        // One attempt a push after the repair.
        #expect(route.attemptTimes.count { $0.time >= repair + .seconds(32) } <= route.pushes.count)
        let new = try #require(route.pushes.values.first { $0.device == 4_999 })
        #expect(try #require(new.delay) < .seconds(20))
    }
}
