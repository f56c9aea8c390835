import Bytes
import SoftphonePNM
import Store
import TestSupport
import Testing

@testable import Delivery
@testable import GatewayDelivery

/// A gateway's push whose sender waits for the first attempt (GATEWAY_PROTOCOLS.md, Decisions 4).
@Suite(.safetyNet)
struct GatewayDeliveryTests {
    @Test func `a push without a response after 25 s has failed, and is never delivered later`() async throws {
        try await withStubGorush { stub in
            let (world, url) = (try World(), await stub.url)
            stub.breakDown(.hang)
            try await world.withDelivery(to: url, { $0.drainLimit = .zero }) { running async throws in
                let outbox = GatewayDelivery(
                    store: running.store, delivery: running.loop, clock: world.clock, wallClock: world.wallClock.clock)
                var notification = GatewayNotification(
                    platform: .android, token: DeviceToken(androidToken(1)), kind: .alert, priority: .high,
                    data: ["verb": "NotifyReprovision"])
                notification.isTriedOnce = true
                async let results = outbox.deliver([AcceptedNotification(notification, digest: FixedBytes(repeating: 1))])
                await stub.posts.wait(for: 1)
                await world.clock.sleepers(dueIn: .seconds(25))
                world.advance(by: .seconds(25))
                #expect(try await results == [.failed])
                #expect(try await running.outcomes()[.withdrawn] == 1)
            }
            stub.breakDown(nil)
            try await world.withDelivery(to: url) { running async throws in
                try await running.settle()
                #expect(try await running.isAllDone())
                #expect(stub.notifications.all.isEmpty)
            }
        }
    }
}
