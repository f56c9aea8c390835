import Bytes
import Store
import TestServers
import TestSupport
import Testing

@testable import Delivery
@testable import HTTPGateways

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

    /// A caller waits, so a suspicion delays no call, and calls alone must not unregister a device within seconds.
    @Test func `a call to a suspected softphone is tried at once and fails, until the device is unregistered`() async throws {
        try await withStubGorush { stub in
            let (world, url) = (try World(), await stub.url)
            try await world.withDelivery(to: url) { running async throws in
                let outbox = GatewayDelivery(
                    store: running.store, delivery: running.loop, clock: world.clock, wallClock: world.wallClock.clock)
                func call(_ device: Int) async throws -> [FirstAttempt] {
                    var random = SecureRandom()
                    var notification = GatewayNotification(
                        platform: .android, token: DeviceToken(androidToken(device)), kind: .alert, priority: .high,
                        data: ["verb": "NotifyReprovision"])
                    (notification.isTriedOnce, notification.isCall) = (true, true)
                    return try await outbox.deliver([AcceptedNotification(notification, digest: random.fixedBytes())])
                }
                #expect(try await [call(1), call(2)] == [[.sent], [.sent]])
                world.advance(by: .seconds(60))
                stub.fail(token: androidToken(1), with: "Requested entity was not found.")
                let posts = stub.notifications.all.count
                // Calls every ten seconds, each next to a delivery to another device.
                for number in 1...13 {
                    #expect(try await [call(1), call(2)] == [[.failed], [.sent]])
                    #expect(stub.notifications.all.count == posts + 2 * number)
                    world.advance(by: .seconds(10))
                }
                #expect(try await world.number("SELECT refusals FROM suspect_token") == 3)
                #expect(try await world.number("SELECT counted_refusals FROM suspect_token") == 2)
                var seconds = 130
                while try await call(1) == [.failed], seconds < 7_200 {
                    #expect(try await call(2) == [.sent])
                    world.advance(by: .seconds(10))
                    seconds += 10
                }
                // The first refusal counts nothing, and the last one has to be an hour after the next.
                #expect(seconds == 3_660)
                stub.fail(token: androidToken(1), with: nil)
                #expect(try await call(1) == [.sent])
            }
        }
    }

    @Test func `what waits for a gateway's phone ends with it`() async throws {
        try await withStubGorush { stub in
            let world = try World()
            try await world.withDelivery(to: await stub.url) { running async throws in
                stub.fail(token: iosToken(1), with: "Unregistered")
                let notification = GatewayNotification(
                    platform: .ios, token: DeviceToken(iosToken(1)), topic: "topic", kind: .alert, priority: .high, data: [:])
                _ = try await running.store.enqueue(
                    (1...3).map { AcceptedNotification(notification, digest: FixedBytes(repeating: $0)) }, repeatsSince: nil,
                    isDiscarded: false, at: world.wallClock.now)
                running.loop.wake()
                try await running.settle()
                #expect(try await running.outcomes() == [.deadToken: 1, .expired: 2])
                #expect(try await running.audit().balances)
            }
        }
    }

    @Test func `thirty notifications ring a phone at once, and then one each five seconds, beside which a call rings`() async throws {
        try await withStubGorush { stub in
            let world = try World()
            try await world.withDelivery(to: await stub.url) { running async throws in
                let outbox = GatewayDelivery(
                    store: running.store, delivery: running.loop, clock: world.clock, wallClock: world.wallClock.clock)
                func notification(_ number: UInt8, isCall: Bool = false) -> AcceptedNotification {
                    var notification = GatewayNotification(
                        platform: .android, token: DeviceToken(androidToken(1)), kind: isCall ? .voip : .alert, priority: .high, data: [:])
                    notification.isCall = isCall
                    return AcceptedNotification(notification, digest: FixedBytes(repeating: number))
                }
                try await outbox.accept((1...100).map { notification($0) }, repeatsSince: World.start, at: World.start)
                try await running.settle()
                #expect(stub.notifications.all.count == 30)
                try await outbox.accept([notification(101, isCall: true)], repeatsSince: World.start, at: World.start)
                try await running.settle()
                #expect(stub.notifications.all.count == 31)
                let passed = try await running.pass { try await running.isAllDone() }
                #expect(stub.notifications.all.count == 101 && (.seconds(349)...Duration.seconds(352)).contains(passed))
            }
        }
    }

    @Test(arguments: [false, true]) func `a call whose attempt was cut off by a crash does not ring again`(isTriedOnce: Bool) async throws {
        try await withStubGorush { stub in
            let (world, url, crashed) = (try World(), await stub.url, Recorder<World>())
            stub.breakDown(.hang)
            try await world.withDelivery(to: url, { $0.drainLimit = .zero }) { running async throws in
                var notification = GatewayNotification(
                    platform: .android, token: DeviceToken(androidToken(1)), kind: .voip, priority: .high, data: [:])
                (notification.isCall, notification.isTriedOnce) = (true, isTriedOnce)
                _ = try await running.store.enqueue(
                    [AcceptedNotification(notification, digest: FixedBytes(repeating: 1))], repeatsSince: nil, isDiscarded: false,
                    at: world.wallClock.now)
                running.loop.wake()
                await stub.posts.wait(for: 1)
                crashed.append(try world.crashed())
            }
            stub.breakDown(nil)
            try await #require(crashed.all.first).withDelivery(to: url) { running async throws in
                try await running.settle()
                #expect(try await running.outcomes() == [.withdrawn: 1])
                #expect(stub.notifications.all.isEmpty)
                #expect(try await running.audit().balances)
            }
        }
    }
}
