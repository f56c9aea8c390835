import Bytes
import Foundation
import PushProtocol
import Store
import Synchronization
import TestServers
import TestSupport
import Testing

@testable import Delivery

/// The delivery with a gorush on loopback and a real database.
@Suite(.safetyNet) struct DeliveryTests {
    @Test func `a push arrives at once with all fields that gorush needs, and finishes as sent`() async throws {
        try await withStubGorush { stub in
            let world = try World()
            try await world.withDelivery(to: await stub.url) { running in
                try await running.accept([iosPush(1), androidPush(2)])
                let taken = await stub.waitForNotifications(count: 2).sorted { $0.platform < $1.platform }
                #expect(taken[0].tokens == [iosToken(1)])
                #expect(taken[0].topic == "im.status.ethereum")
                #expect(taken[0].expiration == 1_800_000_000 + 86_400)
                #expect(taken[0].timeToLive == nil)
                #expect(taken[0].data == ["chat_id": "0x0102", "message": "0x030405", "installation_ids": ["installation-1"]])
                #expect(taken[1].tokens == [androidToken(2)])
                #expect(taken[1].topic == nil)
                #expect(taken[1].timeToLive == "86400s")
                #expect(taken[1].expiration == nil)
                #expect(taken.allSatisfy { ($0.collapseIdentifier?.utf8.count ?? 0) == 32 })
                #expect(Set(taken.map(\.identifier)).count == 2)
                #expect(taken.allSatisfy { $0.identifier?.utf8.count == 32 })
                try await running.settle()
                #expect(try await running.outcomes() == [.sent: 2])
                #expect(try await running.audit().balances)
                #expect(running.loop.healthIssues == [] && running.loop.warnings == [])
            }
        }
    }

    /// - Parameter askedCount: The number of checks that find the lease held before it ends.
    @Test(arguments: [0, 1]) func `no push is posted without the lease of its server, and all are with the next one`(
        askedCount: Int
    ) async throws {
        try await withStubGorush { stub in
            let world = try World()
            let lease = Mutex((asked: 0, isRenewed: false))
            let mayPost: @Sendable (Int64) -> Bool = { _ in
                lease.withLock { lease in
                    lease.asked += 1
                    return lease.isRenewed || lease.asked <= askedCount
                }
            }
            try await world.withDelivery(to: await stub.url, mayPost: mayPost) { running in
                try await running.accept([iosPush(1)])
                for _ in 0..<5 { world.advance(by: try await running.settle()) }
                #expect(stub.posts.all.isEmpty)
                #expect(try await running.store.queuedPushCount() == 1)
                lease.withLock { $0.isRenewed = true }
                try await running.pass { try await running.isAllDone() }
                #expect(try await running.outcomes() == [.sent: 1])
                #expect(stub.posts.all.count == 1)
                #expect(try await running.audit().balances)
            }
        }
    }

    @Test(
        arguments: [
            (StubGorush.Configuration(isSync: false), "core.sync: true"), (.init(queueEngine: "redis"), "queue.engine: local"),
        ])
    func `a gorush that would lose pushes gets none, and the health check names the line to change`(
        configuration: StubGorush.Configuration, line: String
    ) async throws {
        try await withStubGorush(configuration) { stub in
            let world = try World()
            let url = await stub.url
            let probes = await DeliveryConfiguration(endpoint: .init(url: url)).probe()
            #expect(probes.count == 1 && probes[0].issue?.contains("set \(line) in gorush's configuration") == true)
            try await world.withDelivery(to: url) { running in
                try await running.accept([iosPush(1), androidPush(2)])
                for _ in 0..<20 { world.advance(by: try await running.settle()) }
                #expect(stub.posts.all.isEmpty)
                #expect(running.loop.healthIssues.count == 2)
                #expect(running.loop.healthIssues.allSatisfy { $0.contains("set \(line) in gorush's configuration") })
                #expect(!running.loop.confirmsDelivery)
                // The operator changes the setting and restarts gorush.
                stub.configuration = .init()
                #expect(try await running.pass { try await running.isAllDone() } <= .seconds(5))
                #expect(try await running.outcomes() == [.sent: 2])
                #expect(running.loop.healthIssues == [] && running.loop.confirmsDelivery)
            }
        }
    }

    @Test(arguments: [true, false])
    func `a gorush that hides its configuration gets pushes only if a setting trusts it`(isTrusted: Bool) async throws {
        try await withStubGorush(.init(isSync: false, isBehindProxy: true)) { stub in
            let world = try World()
            try await world.withDelivery(to: await stub.url, { $0.trustsSyncMode = isTrusted }) { running in
                try await running.accept([iosPush(1)])
                if isTrusted {
                    try await running.pass { try await running.isAllDone() }
                    #expect(running.loop.healthIssues == [] && running.loop.warnings.contains { $0.contains(GorushProfile.trustWarning) })
                } else {
                    let passed = try await running.pass { running.loop.healthIssues.contains { $0.contains(GorushProfile.hiddenIssue) } }
                    #expect(passed >= GorushProfile.hiddenInterval && passed <= .seconds(20))
                    #expect(stub.posts.all.allSatisfy { $0.body == #"{"notifications":[]}"# })
                }
            }
        }
    }

    @Test func `in batch mode, a request has the maximum number of notifications that gorush accepts`() async throws {
        try await withStubGorush(.init(maximumNotificationCount: 10)) { stub in
            let world = try World()
            try await world.withDelivery(to: await stub.url, { $0.batchMode = .batch }) { running in
                try await running.settle()
                try await running.accept((0..<25).map { androidPush($0) })
                try await running.pass { try await running.isAllDone() }
                #expect(stub.posts.all.count == 3 && stub.notifications.all.count == 25)
            }
        }
    }

    @Test func `in a batch, devices of one owner in one request share a notification, and devices of two owners never do`() async throws {
        try await withStubGorush { stub in
            let world = try World()
            try await world.withDelivery(to: await stub.url, { $0.batchMode = .batch }) { running in
                stub.fail(token: androidToken(2), with: "ServiceUnavailable")
                try await running.accept([1, 2, 3].map { androidPush($0, owner: 1) } + [androidPush(4, owner: 2)])
                try await running.settle()
                #expect(Set(stub.notifications.all.map { Set($0.tokens) }) == [Set([1, 2, 3].map(androidToken)), [androidToken(4)]])
                // The server identifies the failed token although gorush hides tokens.
                #expect(try await running.outcomes() == [.sent: 3])
                stub.fail(token: androidToken(2), with: nil)
                try await running.pass { try await running.isAllDone() }
                #expect(stub.notifications.all.last?.tokens == [androidToken(2)])
            }
        }
    }

    @Test func `a hundred pushes to one device do not delay the push to another`() async throws {
        try await withStubGorush { stub in
            let world = try World()
            try await world.withStore { store in
                for message in 1...100 { try await world.accept([androidPush(0)], message: Int64(message), in: store) }
                try await world.accept([androidPush(200)], message: 101, in: store)
            }
            try await world.withDelivery(to: await stub.url, { $0.maximumRequestsInFlight = 1 }) { running in
                try await running.pass { try await running.isAllDone() }
            }
            let place = try #require(stub.notifications.all.firstIndex { $0.tokens == [androidToken(200)] })
            // A device that has worked meanwhile has twice the share of one that has not.
            #expect(place <= 2)
        }
    }

    @Test func `the number of requests in flight is limited`() async throws {
        try await withStubGorush { stub in
            let world = try World()
            // Accept the pushes before the start. A route that then sleeps for the maximum has all its permitted requests in flight.
            try await world.withStore { try await world.accept((0..<10).map { androidPush($0) }, in: $0) }
            stub.breakDown(.hang)
            try await world.withDelivery(
                to: await stub.url,
                {
                    $0.maximumRequestsInFlight = 4; $0.drainLimit = .zero
                }
            ) { _ async throws in
                await stub.posts.wait(for: 3)
                // Until an attempt is slow.
                await world.clock.sleepers(dueIn: Bulkhead.slowDuration, .seconds(30))
                #expect(try await world.count("state = 0") == 10)
                #expect(stub.posts.all.count == 3)
            }
        }
    }

    struct Fault: CustomTestStringConvertible, Sendable {
        var name: String
        var misbehaviour: StubGorush.Misbehaviour
        /// Whether gorush delivers the notifications despite the fault, so that the retry delivers them again.
        var takesBatch = false
        /// The time-out of requests. On a busy machine a correct response may exceed it.
        var timeout: Duration?
        var testDescription: String { name }

        static let counts = #"{"counts":0,"logs":[],"success":"ok"}"#
        static let all = [
            Fault(name: "reset", misbehaviour: .reset),
            Fault(name: "reset after taking it", misbehaviour: .reset, takesBatch: true),
            Fault(name: "hangs", misbehaviour: .hang, timeout: .seconds(3)),
            Fault(name: "hangs after taking it", misbehaviour: .hang, takesBatch: true, timeout: .seconds(3)),
            Fault(
                name: "a byte now and then", misbehaviour: .drip(interval: .milliseconds(200)), takesBatch: true,
                timeout: .seconds(3)),
            Fault(name: "breaks off", misbehaviour: .breakOff, takesBatch: true),
            Fault(name: "counts nothing", misbehaviour: .answer(status: 200, body: counts)),
            Fault(name: "malformed JSON", misbehaviour: .answer(status: 200, body: "{\"counts\":"), takesBatch: true),
            Fault(name: "not gorush's JSON", misbehaviour: .answer(status: 200, body: "<html>"), takesBatch: true),
            Fault(name: "10 MB", misbehaviour: .answer(status: 200, body: String(repeating: "x", count: 10 << 20)), takesBatch: true),
            Fault(name: "400 of a proxy", misbehaviour: .answer(status: 400)),
            Fault(name: "401", misbehaviour: .answer(status: 401)), Fault(name: "403", misbehaviour: .answer(status: 403)),
            Fault(name: "404", misbehaviour: .answer(status: 404)), Fault(name: "307", misbehaviour: .answer(status: 307)),
            Fault(name: "413", misbehaviour: .answer(status: 413)),
            Fault(name: "429", misbehaviour: .answer(status: 429, headers: ["Retry-After": "7"])),
            Fault(name: "500 with an empty body", misbehaviour: .answer(status: 500), takesBatch: true),
            Fault(name: "500, nothing taken", misbehaviour: .answer(status: 500)),
            Fault(name: "502", misbehaviour: .answer(status: 502)), Fault(name: "503", misbehaviour: .answer(status: 503)),
            Fault(name: "503 with Retry-After", misbehaviour: .answer(status: 503, headers: ["Retry-After": "30"])),
            Fault(name: "504", misbehaviour: .answer(status: 504)),
        ]
    }

    @Test(arguments: Fault.all, [DeliveryConfiguration.BatchMode.single, .batch])
    func `RELIABILITY.md T4: whatever gorush does, each push arrives and finishes once`(
        _ fault: Fault, mode: DeliveryConfiguration.BatchMode
    ) async throws {
        try await withStubGorush { stub in
            let world = try World()
            try await world.withDelivery(
                to: await stub.url,
                {
                    $0.timeout = fault.timeout ?? $0.timeout
                    $0.batchMode = mode
                }
            ) { running in
                try await running.settle()
                for _ in 0..<3 { stub.next(fault.misbehaviour, takesBatch: fault.takesBatch) }
                try await running.accept((0..<4).map { iosPush($0) } + (0..<4).map { androidPush($0) })
                await stub.posts.wait(for: 1)
                try await running.pass { try await running.isAllDone() }
                #expect(try await running.outcomes() == [.sent: 8])
                #expect(try await running.audit().balances)
                #expect(running.loop.healthIssues == [])

                // In a batch, the devices of one request share a notification.
                let each = stub.notifications.all.flatMap { notification in notification.tokens.map { ($0, notification) } }
                let taken = Dictionary(grouping: each) { $0.0 }.mapValues { $0.map(\.1) }
                #expect(taken.count == 8)
                for notifications in taken.values {
                    #expect(fault.takesBatch || fault.timeout != nil || notifications.count == 1)
                    // The device merges repeated notifications.
                    #expect(Set(notifications.map(\.collapseIdentifier)).count == 1)
                    #expect(Set(notifications.map(\.identifier)).count == notifications.count)
                }
            }
        }
    }

    @Test func `each push arrives although gorush fails again and again`() async throws {
        try await withStubGorush { stub in
            let world = try World()
            try await world.withDelivery(to: await stub.url) { running in
                for round in 0..<10 {
                    stub.breakDown(.answer(status: 503))
                    try await running.accept([iosPush(2 * round), androidPush(2 * round)], message: Int64(2 * round))
                    try await running.settle()
                    stub.breakDown(nil)
                    try await running.accept([iosPush(2 * round + 1), androidPush(2 * round + 1)], message: Int64(2 * round + 1))
                    world.advance(by: .seconds(1))
                }
                try await running.pass { try await running.isAllDone() }
                #expect(stub.notifications.all.count == 40)
                #expect(try await running.outcomes() == [.sent: 40])
            }
        }
    }

    @Test func `the route posts no push before the time that gorush named`() async throws {
        try await withStubGorush { stub in
            let world = try World()
            try await world.withDelivery(to: await stub.url) { running in
                stub.next(.answer(status: 429, headers: ["Retry-After": "600"]))
                try await running.accept([androidPush(1)])
                let passed = try await running.pass { try await running.isAllDone() }
                #expect(passed >= .seconds(600))
                #expect(passed <= .seconds(620))
                #expect(stub.posts.all.count == 2)
            }
        }
    }

    @Test func `a hanging platform does not delay the other one, nor a hanging app another app`() async throws {
        try await withStubGorush { stub in
            try await withStubGorush { hanging in
                let world = try World()
                let hangingURL = await hanging.url
                hanging.breakDown(.hang)
                stub.breakDown(.hang, platforms: [1])
                try await world.withDelivery(
                    to: await stub.url,
                    {
                        $0.maximumRequestsInFlight = 2
                        $0.drainLimit = .zero
                        $0.routes = [
                            .init(name: "desktop", pushes: .apnTopics(["im.status.desktop"]), endpoint: .init(url: hangingURL)),
                            .init(name: "other", pushes: .apnTopics(["im.status.other"])),
                        ]
                    }
                ) { running in
                    try await running.accept((0..<20).map { iosPush($0) } + (20..<40).map { iosPush($0, topic: "im.status.desktop") })
                    // Of two workers one is for devices that have worked.
                    await hanging.posts.wait(for: 1)
                    await stub.posts.wait(for: 1)
                    try await running.accept((40..<60).map { androidPush($0) })
                    let android = await stub.waitForNotifications(count: 20)
                    #expect(android.allSatisfy { $0.platform == 2 })
                    stub.breakDown(nil)
                    try await running.accept([iosPush(60, topic: "im.status.other")])
                    await stub.waitForNotifications(count: 21)
                    #expect(stub.notifications.all.contains { $0.topic == "im.status.other" })
                    #expect(hanging.posts.all.count == 1)
                }
            }
        }
    }

    @Test func `a notification that gorush rejects is found, and the rest of its batch is sent`() async throws {
        try await withStubGorush { stub in
            let world = try World()
            try await world.withDelivery(to: await stub.url, { ($0.batchMode, $0.lifetime) = (.batch, .seconds(1_800)) }) { running in
                try await running.settle()
                stub.refuse(token: androidToken(13))
                try await running.accept((0..<40).map { androidPush($0) })
                try await running.pass { try await running.isAllDone() }
                #expect(try await running.outcomes() == [.sent: 39, .expired: 1])
                for number in 0..<40 { try await running.accept([androidPush(number)], message: Int64(100 + number)) }
                try await running.pass { try await running.isAllDone() }
                let outcomes = try await running.outcomes()
                #expect(outcomes == [.sent: 78, .expired: 2])
                #expect(Set(stub.notifications.all.flatMap(\.tokens)).count == 39)
                #expect(try await running.audit().balances)
            }
        }
    }
}
