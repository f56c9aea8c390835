import Envelope
import Store
import Synchronization
import TestServers
import TestSupport
import Testing

@testable import Delivery
@testable import PostgreSQLStore

/// A route that an operator holds. Its pushes wait, and nobody else's do.
@Suite(.safetyNet) struct HeldRouteTests {
    /// By then a server has noticed what an operator did.
    private static let notice = Duration.seconds(2)

    private static func hold(_ route: String, for length: Duration, in world: World, _ store: any PushStore) async throws {
        let now = world.wallClock.now
        try await store.hold([RouteHold(route: route, start: now, end: now.advanced(by: length))])
    }

    @Test(arguments: TestDatabase.allCases)
    func `pushes to a held route wait, also over a restart, until it is resumed`(database: TestDatabase) async throws {
        try await withStubGorush { stub in
            let world = try await World(database)
            try await world.withStore { try await Self.hold("ios", for: .seconds(3_600), in: world, $0) }
            try await world.withDelivery(to: await stub.url) { running in
                try await running.settle()
                try await running.accept([iosPush(1), androidPush(2)])
                try await running.pass(.seconds(100))
                #expect(stub.notifications.all.map(\.tokens) == [[androidToken(2)]])
                #expect(running.loop.holds.map { $0.hasPrefix("delivery ios: held by an operator: from ") } == [true])
                #expect(running.loop.healthIssues == [] && running.loop.warnings == [])
            }
            try await world.withDelivery(to: await stub.url) { running in
                try await running.pass(.seconds(100))
                #expect(stub.notifications.all.count == 1 && running.loop.holds.count == 1)
                #expect(try await running.store.resume(["ios", "android"]).map(\.route) == ["ios"])
                try await running.pass(Self.notice)
                try await running.settle()
                #expect(try await running.outcomes() == [.sent: 2])
                #expect(running.loop.holds == [])
                #expect(try await running.audit().balances)
            }
        }
    }

    @Test(arguments: TestDatabase.allCases)
    func `a hold that begins lets attempts in flight end, and ends by itself at its time`(database: TestDatabase) async throws {
        try await withStubGorush { stub in
            let world = try await World(database)
            try await world.withDelivery(to: await stub.url) { running in
                let mayAnswer = Condition(false)
                stub.next(.delay(until: mayAnswer), takesBatch: true)
                try await running.settle()
                try await running.accept([androidPush(1)])
                await stub.posts.wait(for: 1)
                try await Self.hold("android", for: .seconds(600), in: world, running.store)
                world.advance(by: Self.notice)
                await world.clock.sleepers(dueIn: Self.notice)
                try await running.accept([androidPush(2)])
                mayAnswer.change { $0 = true }
                try await running.pass(.seconds(500))
                #expect(try await running.outcomes() == [.sent: 1])
                let rest = try await running.pass { try await running.isAllDone() }
                #expect(rest > .seconds(97) && rest < .seconds(99), "\(rest)")
                // The row is of no use any more.
                try await running.pass(Self.notice)
                #expect(try await running.store.routeHolds() == [])
            }
        }
    }

    @Test(arguments: TestDatabase.allCases)
    func `a hold ends early when its queue is three quarters full, and no push is refused`(database: TestDatabase) async throws {
        try await withStubGorush { stub in
            let world = try await World(database)
            try await world.withDelivery(to: await stub.url, maximumQueueCount: 8) { running in
                try await Self.hold("android", for: .seconds(3_600), in: world, running.store)
                try await running.pass(Self.notice)
                try await running.accept((1...5).map { androidPush($0) })
                try await running.pass(.seconds(100))
                // A reading of the holds beside the commit may count without it.
                try await running.settle()
                #expect(stub.notifications.all.isEmpty)
                try await running.accept([androidPush(6)])
                try await running.pass(Self.notice)
                try await running.settle()
                #expect(try await running.outcomes() == [.sent: 6])
                #expect(try await running.store.routeHolds() == [])
                let text = "delivery android: the hold of android has ended early, because its queue is three quarters full"
                #expect(running.loop.holds == [text])
            }
        }
    }

    @Test func `a step of the clock that is in doubt ends no hold`() async throws {
        try await withStubGorush { stub in
            let world = try World()
            try await world.withDelivery(to: await stub.url) { running in
                try await Self.hold("android", for: .seconds(3_600), in: world, running.store)
                try await running.pass(Self.notice)
                world.wallClock.step(by: .seconds(86_400))
                try await running.accept([androidPush(1)])
                try await running.pass(.seconds(60))
                #expect(stub.notifications.all.isEmpty)
                world.wallClock.settle()
                try await running.pass { try await running.isAllDone() }
            }
        }
    }

    @Test func `while the holds cannot be read, other routes deliver, and the hold stays true until its end`() async throws {
        try await withStubGorush { stub in
            let world = try await World(.postgresql)
            try await world.withDelivery(to: await stub.url) { running in
                try await Self.hold("android", for: .seconds(10), in: world, running.store)
                try await running.pass(Self.notice)
                let session = Mutex(try #require(try world.session()))
                func run(_ statement: String) throws { _ = try session.withLock { try $0.run([Command(statement)]) } }
                try run("BEGIN")
                try run("LOCK TABLE route_hold")
                // A reading waits for the table now.
                world.advance(by: Self.notice)
                try await running.accept([androidPush(1), iosPush(2)])
                await stub.waitForNotifications(count: 1)
                #expect(stub.notifications.all.map(\.tokens) == [[iosToken(2)]])
                world.advance(by: .seconds(10))
                await stub.waitForNotifications(count: 2)
                try run("ROLLBACK")
                try await running.pass { try await running.isAllDone() }
            }
        }
    }
}
