import Store
import TestServers
import TestSupport
import Testing

@testable import HTTPGateways

/// The counter of pushes goes up by their number in each request.
@Suite(.safetyNet) struct CounterTests {
    @Test(
        arguments: [
            (OriginWorld.StubProxy.taken, Duration.seconds(2), "accepted"), (.text(403, "Forbidden"), .seconds(2), "rejected"),
            (OriginWorld.StubProxy.taken, .seconds(86_401), "expired"),
        ] as [(GatewayResponse, Duration, String)])
    func `three pushes that waited for their proxy are counted as three`(
        answer: GatewayResponse, passed: Duration, outcome: String
    ) async throws {
        try await CountedMetrics.with { counted in
            try await withOrigin { world async throws in
                _ = try await world.register("alice_talk_ios")
                world.proxy.answer.change { $0 = .unavailable }
                _ = try await world.notify(1)
                await world.clock.sleepers { $0.contains { $0 <= .seconds(2) } }
                for number in 2...3 { _ = try await world.notify(number) }
                #expect(counted.all == [:])
                world.proxy.answer.change { $0 = answer }
                world.advance(by: passed)
                try await world.waitUntilNothingWaits()
            }
            #expect(counted.all == ["pushserver_origin_pushes_total \(outcome)": 3])
        }
    }
}
