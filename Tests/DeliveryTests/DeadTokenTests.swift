import Bytes
import Envelope
import Foundation
import PushProtocol
import Store
import TestServers
import TestSupport
import Testing
import Wire

@testable import Delivery

/// Dead device tokens, and live ones with verdicts that suggest the same.
@Suite(.safetyNet) struct DeadTokenTests {
    private static let topics = QueryTopics(plain: 1, prefixed: 2)

    private func register(_ pushes: [AcceptedPush], at time: Timestamp, in store: any PushStore) async throws {
        try await store.apply(at: time) { batch in
            for push in pushes { batch.register(registration(of: push), topics: Self.topics) }
        }
    }

    private func isRegistered(_ push: AcceptedPush, in store: any PushStore) async throws -> Bool {
        try await store.version(of: push.target)?.isRegistered == true
    }

    private let before = World.start.advanced(by: .seconds(-10))

    @Test(arguments: ["Unregistered", "ExpiredToken"])
    func `a dead token finishes the push and removes every registration with it`(reason: String) async throws {
        try await withStubGorush { stub in
            let world = try World()
            try await world.withDelivery(to: await stub.url) { running in
                let twin = iosPush(2, token: iosToken(1))
                try await register([iosPush(1), twin, iosPush(3)], at: before, in: running.store)
                stub.fail(token: iosToken(1), with: reason)
                try await running.accept([iosPush(1), iosPush(3)])
                try await running.settle()
                #expect(try await running.outcomes() == [.deadToken: 1, .sent: 1])
                #expect(try await !isRegistered(iosPush(1), in: running.store))
                #expect(try await !isRegistered(twin, in: running.store))
                #expect(try await isRegistered(iosPush(3), in: running.store))
                #expect(Set(world.unregistered.all.map(\.registration)) == [1, 2])
                // The version stays, so the next registration needs a higher one.
                #expect(try await running.store.version(of: iosPush(1).target)?.version == 1)
                #expect(try await running.audit().balances)
            }
        }
    }

    @Test func `a dead token removes nothing while the clock is in doubt`() async throws {
        try await withStubGorush { stub in
            let world = try World()
            try await world.withDelivery(to: await stub.url) { running in
                try await register([iosPush(1)], at: before, in: running.store)
                stub.fail(token: iosToken(1), with: "Unregistered")
                world.wallClock.step(by: .seconds(2 * 3_600))
                try await running.accept([iosPush(1)])
                try await running.settle()
                #expect(try await isRegistered(iosPush(1), in: running.store))
                #expect(try await running.store.queuedPushCount() == 1)
                world.wallClock.settle()
                try await running.pass { try await running.isAllDone() }
                #expect(try await running.outcomes() == [.deadToken: 1])
                #expect(try await !isRegistered(iosPush(1), in: running.store))
            }
        }
    }

    @Test(arguments: [true, false])
    func `another registration that is newer than the attempt, or has another token, survives`(hasSameToken: Bool) async throws {
        try await withStubGorush { stub in
            let world = try World()
            try await world.withDelivery(to: await stub.url) { running in
                let now = iosPush(2, token: iosToken(hasSameToken ? 1 : 9))
                try await register([now], at: hasSameToken ? World.start : before, in: running.store)
                stub.fail(token: iosToken(1), with: "Unregistered")
                try await running.accept([iosPush(1)])
                try await running.settle()
                #expect(try await running.outcomes() == [.deadToken: 1])
                #expect(try await isRegistered(now, in: running.store))
            }
        }
    }

    @Test func `a refused device is unregistered after three refusals that follow deliveries to another, and a delivery clears it`()
        async throws
    {
        try await withStubGorush { stub in
            let world = try World()
            try await world.withDelivery(to: await stub.url) { running in
                let pushes = [iosPush(1), iosPush(2)]
                try await register(pushes, at: before, in: running.store)
                try await running.accept(pushes)
                try await running.settle()
                #expect(try await running.outcomes() == [.sent: 2])
                stub.fail(token: iosToken(1), with: "BadDeviceToken")
                world.advance(by: .seconds(1))
                try await running.accept([pushes[0]], message: 2)
                // No other device has a delivery, so no refusal counts.
                try await running.pass { stub.notifications.all.count == 20 }
                #expect(try await isRegistered(pushes[0], in: running.store))
                stub.fail(token: iosToken(1), with: nil)
                try await running.pass { try await running.isAllDone() }
                #expect(try await running.outcomes() == [.sent: 3])

                stub.fail(token: iosToken(1), with: "BadDeviceToken")
                world.advance(by: .seconds(1))
                // The device has one attempt at a time, whatever number of pushes waits for it.
                for message in 3...9 { try await running.accept([pushes[0]], message: Int64(message)) }
                let attempts = stub.notifications.all.count { $0.tokens == [iosToken(1)] }
                var message = Int64(10)
                let passed = try await running.pass {
                    message += 1
                    try await running.accept([pushes[1]], message: message)
                    try await running.settle()
                    return try await running.outcomes()[.deadToken] != nil
                }
                #expect(passed >= RefusalRules.requiredInterval && passed <= .seconds(4_500))
                #expect(stub.notifications.all.count { $0.tokens == [iosToken(1)] } <= attempts + 90)
                #expect(try await !isRegistered(pushes[0], in: running.store))
                #expect(try await isRegistered(pushes[1], in: running.store))
            }
        }
    }

    @Test func `a delivery makes all pushes of a suspected device due`() async throws {
        try await withStubGorush { stub in
            let world = try World()
            try await world.withDelivery(to: await stub.url) { running in
                try await running.accept([iosPush(1)])
                try await running.settle()
                stub.fail(token: iosToken(1), with: "BadDeviceToken")
                for message in 2...9 { try await running.accept([iosPush(1)], message: Int64(message)) }
                try await running.pass { stub.notifications.all.count >= 9 }
                stub.fail(token: iosToken(1), with: nil)
                let passed = try await running.pass { try await running.outcomes()[.sent] ?? 0 >= 2 }
                // All of them follow the first one.
                #expect(passed <= .seconds(600))
                #expect(try await running.pass { try await running.isAllDone() } <= .seconds(1))
            }
        }
    }

    @Test func `the refusals of a device survive a restart`() async throws {
        try await withStubGorush { stub in
            let world = try World()
            let url = await stub.url
            let pushes = [iosPush(1), iosPush(2)]
            try await world.withDelivery(to: url) { running in
                try await register(pushes, at: before, in: running.store)
                try await running.accept(pushes)
                try await running.settle()
                stub.fail(token: iosToken(1), with: "BadDeviceToken")
                world.advance(by: .seconds(1))
                try await running.accept([pushes[0]], message: 2)
                var message = Int64(10)
                try await running.pass {
                    message += 1
                    try await running.accept([pushes[1]], message: message)
                    try await running.settle()
                    return stub.notifications.all.count { $0.tokens == [iosToken(1)] } >= 9
                }
            }
            // An hour later, one more refusal next to a delivery is enough.
            world.advance(by: .seconds(3_600))
            try await world.withDelivery(to: url) { running in
                try await running.pass {
                    try await running.accept([pushes[1]], message: Int64.random(in: 1_000..<1_000_000))
                    try await running.settle()
                    return try await running.outcomes()[.deadToken] != nil
                }
                #expect(stub.notifications.all.count { $0.tokens == [iosToken(1)] } <= 13)
                #expect(try await !isRegistered(pushes[0], in: running.store))
            }
        }
    }

    @Test(arguments: ["DeviceTokenNotForTopic", "BadDeviceToken", "Unregistered"])
    func `a client that registers another owner's token with another bundle id gets only its own registration removed`(
        reason: String
    ) async throws {
        try await withStubGorush { stub in
            let world = try World()
            try await world.withDelivery(to: await stub.url, { $0.lifetime = .seconds(3_600) }) { running in
                let victim = iosPush(1)
                let attackers = ["im.status.desktop", "invented"].enumerated().map { iosPush(2 + $0, topic: $1, token: iosToken(1)) }
                // The first bundle id exists, and the second one does not.
                try await running.accept([iosPush(9), iosPush(10, topic: "im.status.desktop")])
                try await running.settle()
                for attacker in attackers { stub.fail(token: iosToken(1), topic: attacker.apnTopic, with: reason) }
                try await register([victim] + attackers, at: before, in: running.store)
                try await running.accept(attackers, message: 2)
                try await running.pass { try await running.isAllDone() }
                // The server acts on Apple's 410. The attackers lose only their own registrations.
                #expect(try await isRegistered(attackers[0], in: running.store) == (reason != "Unregistered"))
                #expect(try await isRegistered(victim, in: running.store))
                #expect(running.loop.healthIssues.isEmpty)
                try await running.accept([victim], message: 3)
                try await running.settle()
                #expect(try await running.outcomes()[.sent] == 3)
            }
        }
    }

    @Test func `invented tokens neither make the server unready nor save a dead device`() async throws {
        try await withStubGorush { stub in
            let world = try World()
            try await world.withDelivery(to: await stub.url) { running in
                let invented = (1...12).map { iosPush($0) }
                try await register(invented + [iosPush(20)], at: before, in: running.store)
                try await running.accept([iosPush(20)])
                try await running.settle()
                for number in 1...12 { stub.fail(token: iosToken(number), with: "BadDeviceToken") }
                stub.fail(token: iosToken(20), with: "Unregistered")
                try await running.accept(invented, message: 2)
                for _ in 0..<60 {
                    try await running.settle()
                    #expect(running.loop.healthIssues.isEmpty)
                    world.advance(by: .seconds(10))
                }
                try await running.accept([iosPush(20)], message: 3)
                try await running.settle()
                #expect(try await !isRegistered(iosPush(20), in: running.store))
            }
        }
    }

    @Test func `pushes with invented bundle ids cost few requests, and finish`() async throws {
        try await withStubGorush { stub in
            let world = try World()
            try await world.withDelivery(to: await stub.url) { running in
                let pushes = (0..<200).map { iosPush($0, topic: "invented-\($0)") }
                for push in pushes { stub.fail(topic: push.apnTopic, with: "TopicDisallowed") }
                try await running.accept(pushes)
                let passed = Duration.seconds(180)
                try await running.pass(passed) { #expect(running.loop.healthIssues.isEmpty) }
                #expect(stub.posts.all.count <= UnprovenBundleIDBudget.burst + Int(passed / UnprovenBundleIDBudget.interval))
                // Those that were not posted can still make room for others, and have no trace of an attempt.
                #expect(try await world.count("finished_at IS NULL AND attempts = 0 AND state <> \(OpenPushState.queued.rawValue)") == 0)
                #expect(try await world.count("finished_at IS NULL AND attempts = 0") > 100)
                // The attackers delay a working bundle id only briefly. Once proven, it has no such limit.
                try await running.accept((300..<340).map { iosPush($0) }, message: 2)
                try await running.pass { try await running.outcomes()[.sent] == 40 }
            }
        }
    }

    @Test func `a waiting push goes to the current token of its device`() async throws {
        try await withStubGorush { stub in
            let world = try World()
            try await world.withDelivery(to: await stub.url) { running in
                try await register([iosPush(1)], at: before, in: running.store)
                stub.fail(token: iosToken(1), with: "ServiceUnavailable")
                try await running.accept([iosPush(1)])
                try await running.settle()
                var renewed = registration(of: iosPush(1), version: 2)
                renewed.content.deviceToken = DeviceToken(iosToken(7))
                try await running.store.apply(at: World.start) { [renewed] in $0.register(renewed, topics: Self.topics) }
                try await running.pass { try await running.isAllDone() }
                #expect(stub.notifications.all.last?.tokens == [iosToken(7)])
                #expect(try await running.outcomes() == [.sent: 1])
            }
        }
    }

    @Test(
        arguments: [
            (1, "BadDeviceToken", true), (1, "BadDeviceToken", false), (1, "DeviceTokenNotForTopic", false),
            (2, "SenderId mismatch", false),
            (2, "Requested entity was not found.", false),
        ])
    func `a gorush with the wrong environment, project or team costs no device, and the server is not ready`(
        platform: Int, words: String, isSandbox: Bool
    ) async throws {
        try await withStubGorush { stub in
            let world = try World()
            try await world.withDelivery(to: await stub.url) { running in
                func push(_ number: Int) -> AcceptedPush { platform == 1 ? iosPush(number) : androidPush(number) }
                let pushes = (0..<6).map(push)
                try await register(pushes, at: before, in: running.store)
                try await running.accept(pushes)
                try await running.settle()
                #expect(try await running.outcomes() == [.sent: 6])
                // gorush restarts within a second.
                stub.configuration.isProduction = !isSandbox
                for push in pushes { stub.fail(token: push.deviceToken.text, with: words) }
                stub.next(.reset)
                var passed = Duration.zero
                for message in 2..<50 {
                    world.advance(by: .seconds(30))
                    passed += .seconds(30)
                    try await running.accept([pushes[message % 6]], message: Int64(message))
                    try await running.settle()
                    if isSandbox, passed > .seconds(30) {
                        #expect(running.loop.warnings.contains { $0.contains("ios.production is false") })
                    }
                    if passed > .seconds(120) {
                        #expect(running.loop.healthIssues.count == 1 && running.loop.healthIssues[0].contains("have worked: \(words)"))
                    }
                }
                #expect(try await running.outcomes() == [.sent: 6])
                #expect(try await running.store.registrationCount() == 6)

                // The operator corrects gorush's configuration, and no push was lost.
                stub.configuration.isProduction = true
                for push in pushes { stub.fail(token: push.deviceToken.text, with: nil) }
                try await running.pass { try await running.isAllDone() }
                #expect(try await running.outcomes() == [.sent: 54])
                #expect(running.loop.healthIssues == [] && world.unregistered.all == [])
            }
        }
    }

    @Test func `a new route with a wrong project removes no registration`() async throws {
        try await withStubGorush { stub in
            let world = try World()
            try await world.withDelivery(to: await stub.url) { running in
                let pushes = (0..<60).map { androidPush($0) }
                try await register(pushes, at: before, in: running.store)
                for push in pushes { stub.fail(token: push.deviceToken.text, with: "Requested entity was not found.") }
                try await running.accept(pushes)
                let passed = try await running.pass { !running.loop.warnings.isEmpty }
                #expect(passed >= Belief.interval && passed <= .seconds(90))
                #expect(running.loop.healthIssues == [] && running.loop.warnings.contains { $0.contains("60 devices that never worked") })
                #expect(try await running.store.registrationCount() == 60)
            }
        }
    }

    @Test func `a server with one device keeps its registration, and its push expires`() async throws {
        try await withStubGorush { stub in
            let world = try World()
            try await world.withDelivery(to: await stub.url) { running in
                try await register([iosPush(1)], at: before, in: running.store)
                try await running.accept([iosPush(1)])
                try await running.settle()
                stub.fail(token: iosToken(1), with: "BadDeviceToken")
                try await running.accept([iosPush(1)], message: 2)
                try await running.pass {
                    #expect(running.loop.healthIssues == [])
                    return try await running.isAllDone()
                }
                #expect(try await running.outcomes() == [.sent: 1, .expired: 1])
                #expect(try await isRegistered(iosPush(1), in: running.store))
                // The delays grow by a tenth to ten minutes, and are a quarter shorter by lot.
                #expect(stub.notifications.all.count <= 300)
            }
        }
    }

    @Test func `dead devices cost one attempt each and leave the server ready`() async throws {
        try await withStubGorush { stub in
            let world = try World()
            try await world.withDelivery(to: await stub.url) { running in
                let pushes = (0..<28).map { iosPush($0) }
                try await register(pushes, at: before, in: running.store)
                try await running.accept(pushes)
                try await running.settle()
                for number in 0..<12 { stub.fail(token: iosToken(number), with: "Unregistered") }
                for message in 2..<45 {
                    world.advance(by: .seconds(30))
                    let numbers = message <= 13 ? [message - 2, 20] : [20]
                    try await running.accept(numbers.map { pushes[$0] }, message: Int64(message))
                    try await running.settle()
                    #expect(running.loop.healthIssues == [])
                    #expect(running.loop.warnings.allSatisfy { $0.contains("gone, within ten minutes") })
                }
                #expect(running.loop.warnings == [])
                #expect(try await running.outcomes() == [.sent: 28 + 43, .deadToken: 12])
                #expect(stub.notifications.all.count == 28 + 43 + 12)
                // The operator can restore the removed registrations.
                let dead = try await running.store.deadRegistrations(limit: 100)
                #expect(dead.count == 12 && dead.allSatisfy { $0.reason == "Unregistered" && $0.route == "ios" && $0.version == 1 })
                let restored = try await running.store.restoreDeadRegistrations(nil, at: world.wallClock.now)
                #expect(Set(restored) == Set(world.unregistered.all) && restored.count == 12)
            }
        }
    }

    @Test func `a server with only devices of gateways fails when none of them gets a delivery`() async throws {
        try await withStubGorush { stub in
            let world = try World()
            let url = await stub.url
            @Sendable func notify(_ number: Int, _ round: UInt8, in store: any PushStore) async throws {
                let notification = GatewayNotification(
                    platform: .android, token: DeviceToken(androidToken(number)), kind: .alert, priority: .high, data: ["subject": "x"])
                let accepted = AcceptedNotification(notification, digest: FixedBytes(repeating: round * 16 + UInt8(number)))
                _ = try await store.enqueue([accepted], repeatsSince: nil, isDiscarded: false, at: world.wallClock.now)
            }
            try await world.withDelivery(to: url) { running in
                for number in 1...3 { try await notify(number, 1, in: running.store) }
                running.loop.wake()
                try await running.pass { try await running.isAllDone() }
                #expect(try await running.outcomes() == [.sent: 3])
            }
            for number in 1...3 { stub.fail(token: androidToken(number), with: "SenderId mismatch") }
            // The rule also applies after a restart.
            try await world.withDelivery(to: url) { running in
                for number in 1...3 { try await notify(number, 2, in: running.store) }
                running.loop.wake()
                try await running.settle()
                world.advance(by: .seconds(60))
                try await running.settle()
                #expect(running.loop.healthIssues.count == 1 && running.loop.healthIssues[0].contains("have worked: SenderId mismatch"))
            }
        }
    }

    @Test(
        arguments: [
            ("ServiceUnavailable", Milestone.sent), ("some new text", .sent), ("TopicDisallowed", .sent), ("BadPriority", .sent),
            ("PayloadTooLarge", .sent),
        ])
    func `each failure has its effect on the push and on the registration`(reason: String, outcome: Milestone) async throws {
        try await withStubGorush { stub in
            let world = try World()
            try await world.withDelivery(to: await stub.url) { running in
                stub.fail(token: iosToken(1), with: reason)
                try await running.accept([iosPush(1)])
                try await running.settle()
                #expect(try await running.outcomes()[.sent] == nil)
                if reason == "PayloadTooLarge" { #expect(stub.notifications.all.dropFirst().first?.data?["message"] == "0x") }
                stub.fail(token: iosToken(1), with: nil)
                try await running.pass { try await running.isAllDone() }
                // Refused without its ciphertext too, it goes on whole.
                #expect(stub.notifications.all.last?.data?["message"] != "0x")
                #expect(try await running.outcomes()[outcome] == 1)
                #expect(try await running.audit().balances)
            }
        }
    }

    @Test(
        arguments: [
            iosPush(1, token: "../" + iosToken(1).dropFirst(3)), iosPush(1, token: String(iosToken(1).dropFirst())),
            iosPush(1, topic: "a b"), androidPush(1, token: ""), androidPush(1, token: String(repeating: "a", count: 4_097)),
        ])
    func `a push with a token that gorush cannot accept is refused with a reason, and not posted`(push: AcceptedPush) async throws {
        try await withStubGorush { stub in
            let world = try World()
            try await world.withDelivery(to: await stub.url) { running in
                try await running.accept([push])
                try await running.settle()
                #expect(try await running.outcomes() == [.refused: 1])
                #expect(try await world.count("reason LIKE 'not a %'") == 1)
                #expect(stub.posts.all.isEmpty)
            }
        }
    }
}
