import Bytes
import Envelope
import Foundation
import PushProtocol
import StatusCrypto
import Store
import TestServers
import TestSupport
import Testing

@testable import Delivery

/// Outages, crashes and clocks that jump (RELIABILITY.md I1, I2, I5, T6).
@Suite(.safetyNet) struct RecoveryTests {
    @Test(
        arguments: [
            StubGorush.Misbehaviour.answer(status: 503), .reset,
        ])
    func `an hour without gorush loses no push, and its return is detected within 5 seconds`(
        _ misbehaviour: StubGorush.Misbehaviour
    ) async throws {
        try await withStubGorush { stub in
            let world = try World()
            try await world.withDelivery(to: await stub.url) { running in
                stub.breakDown(misbehaviour, hidesConfiguration: true)
                for second in stride(from: 0, to: 3_600, by: 120) {
                    try await running.accept([iosPush(second), androidPush(second)], message: Int64(second))
                    try await running.settle()
                    world.advance(by: .seconds(120))
                }
                #expect(try await running.store.queuedPushCount() == 60)
                #expect(running.loop.healthIssues.count == 2)
                stub.breakDown(nil)
                let passed = try await running.pass { stub.notifications.all.contains { $0.platform == 1 } }
                #expect(passed <= .seconds(5))
                try await running.pass { try await running.isAllDone() }
                #expect(running.loop.healthIssues == [])

                #expect(stub.notifications.all.count == 60)
                #expect(Set(stub.notifications.all.map(\.tokens)).count == 60)
                #expect(try await running.outcomes() == [.sent: 60])
                #expect(try await running.audit().balances)
            }
        }
    }

    @Test func `a gorush that starts after the server is detected`() async throws {
        let port = try await withStubGorush { stub in try #require(URL(string: await stub.url)?.port) }
        let world = try World()
        try await world.withDelivery(to: "http://127.0.0.1:\(port)") { running in
            // The route notices the outage before any push needs delivery.
            try await running.settle()
            #expect(running.loop.healthIssues.count == 2)
            try await running.accept([androidPush(1)])
            for _ in 0..<20 {
                world.advance(by: .seconds(10))
                try await running.settle()
            }
            #expect(try await world.count("attempts > 0") == 0)
            try await withStubGorush(.init(port: port)) { stub in
                let passed = try await running.pass { try await running.isAllDone() }
                #expect(passed <= .seconds(5))
                #expect(stub.notifications.all.count == 1)
                #expect(try await running.pass { running.loop.healthIssues.isEmpty } <= .seconds(5))
            }
        }
    }

    @Test func `the return of gorush is detected even after every push has expired`() async throws {
        let port = try await withStubGorush { stub in try #require(URL(string: await stub.url)?.port) }
        let world = try World()
        try await world.withDelivery(to: "http://127.0.0.1:\(port)", { $0.lifetime = .seconds(60) }) { running in
            try await running.accept([androidPush(1), iosPush(1)])
            try await running.pass { try await running.isAllDone() }
            #expect(try await running.outcomes() == [.expired: 2])
            #expect(running.loop.healthIssues.count == 2)
            try await withStubGorush(.init(port: port)) { stub in
                let passed = try await running.pass { running.loop.healthIssues.isEmpty }
                #expect(passed <= .seconds(5))
                #expect(stub.posts.all.isEmpty)
            }
        }
    }

    @Test(arguments: [true, false])
    func `no push expires while the clock is in doubt after a step of three days`(isMistake: Bool) async throws {
        try await withStubGorush { stub in
            let (world, days) = (try World(), Duration.seconds(3 * 86_400))
            try await world.withDelivery(to: await stub.url) { running in
                stub.breakDown(.reset, hidesConfiguration: true)
                try await running.accept([iosPush(1), androidPush(1)])
                try await running.settle()
                world.wallClock.step(by: days)
                for _ in 0..<18 {
                    world.advance(by: .seconds(30))
                    try await running.settle()
                }
                #expect(try await running.store.queuedPushCount() == 2)
                if isMistake { world.wallClock.step(by: .zero - days) }
                world.wallClock.settle()
                stub.breakDown(nil)
                try await running.pass { try await running.isAllDone() }
                #expect(try await running.outcomes() == [isMistake ? .sent : .expired: 2])
            }
        }
    }

    @Test func `a push that could not be read is delivered within 2 seconds`() async throws {
        try await withStubGorush { stub in
            let world = try World()
            try await world.withDelivery(to: await stub.url) { running in
                try await running.settle()
                let index = try #require(try await world.text("SELECT sql FROM sqlite_schema WHERE name = 'push_by_device'"))
                try await world.execute("DROP INDEX push_by_device")
                try await running.accept([iosPush(1)])
                try await running.settle()
                #expect(stub.posts.all.isEmpty && running.loop.healthIssues.contains { $0.contains("outbox cannot be used") })
                try await world.execute(index)
                #expect(try await running.pass { try await running.isAllDone() } <= .seconds(2))
                #expect(stub.notifications.all.count == 1)
            }
        }
    }

    @Test(
        arguments: [
            (1, "InvalidProviderToken"), (1, "BadEnvironmentKeyIdInToken"), (1, "UnrelatedKeyIdInToken"),
            (1, "TooManyProviderTokenUpdates"),
            (2, "oauth2: cannot fetch token: 400 Bad Request"), (2, "The caller does not have permission"),
            (2, "Request is missing required authentication credential. Expected OAuth 2 access token"),
            (2, "Firebase Cloud Messaging API has not been used in project 1 before or it is disabled."),
        ])
    func `words that no registration can cause are reported within 10 seconds, and the first success releases the waiting pushes`(
        platform: Int, words: String
    ) async throws {
        try await withStubGorush { stub in
            let world = try World()
            try await world.withDelivery(to: await stub.url) { running in
                func push(_ number: Int) -> AcceptedPush { platform == 1 ? iosPush(number) : androidPush(number) }
                let error = words.hasPrefix("oauth2") ? "unknown error while making an http call: Post \"https://fcm\": \(words)" : words
                for number in 0..<20 { stub.fail(token: push(number).deviceToken.text, with: error) }
                try await running.accept((0..<20).map(push))
                #expect(try await running.pass { !running.loop.healthIssues.isEmpty } <= .seconds(10))
                #expect(running.loop.healthIssues.count == 1 && running.loop.healthIssues[0].contains(words))
                // Each push was posted once, and some already again.
                #expect((20..<60).contains(stub.notifications.all.count))

                for number in 0..<20 { stub.fail(token: push(number).deviceToken.text, with: nil) }
                try await running.accept([push(20)], message: 2)
                #expect(try await running.pass { try await running.isAllDone() } <= .seconds(5))
                #expect(try await running.outcomes() == [.sent: 21])
                #expect(running.loop.healthIssues == [])
            }
        }
    }

    @Test(
        arguments: [
            (1, "ServiceUnavailable"), (1, #"Post "https://api.push.apple.com/3/device/a1": dial tcp: connection refused"#),
            (2, "The service is currently unavailable."),
            (2, "Auth error from APNS or Web Push Service"), (2, "Internal error encountered."),
        ])
    func `without Apple or Google the server is not ready, until a success ends the waits`(platform: Int, words: String) async throws {
        try await withStubGorush { stub in
            let world = try World()
            try await world.withDelivery(to: await stub.url) { running in
                func push(_ number: Int) -> AcceptedPush { platform == 1 ? iosPush(number) : androidPush(number) }
                let pushes = (0..<20).map(push)
                try await running.accept(pushes)
                try await running.settle()
                for push in pushes { stub.fail(token: push.deviceToken.text, with: words) }
                try await running.accept(pushes, message: 2)
                try await running.settle()
                #expect(running.loop.healthIssues == [])
                let began = try await running.pass { !running.loop.healthIssues.isEmpty }
                #expect((.seconds(59)...Duration.seconds(120)).contains(began))
                let count = stub.notifications.all.count
                try await running.pass(.seconds(150))
                // Each device waits a tenth of its trouble's age.
                #expect((20...400).contains(stub.notifications.all.count - count))
                #expect(running.loop.healthIssues.count == 1)
                for push in pushes { stub.fail(token: push.deviceToken.text, with: nil) }
                try await running.accept([push(20)], message: 3)
                #expect(try await running.pass { try await running.isAllDone() } <= .seconds(31))
                #expect(try await running.outcomes() == [.sent: 41])
                #expect(running.loop.healthIssues == [])
            }
        }
    }

    @Test func `a push without any response keeps its lifetime while the route delivers no push`() async throws {
        try await withStubGorush { stub in
            let world = try World()
            try await world.withDelivery(to: await stub.url, { $0.timeout = .milliseconds(100) }) { running in
                stub.breakDown(.hang)
                try await running.accept([androidPush(1)])
                // Google's client waits as long as Google says, and gorush with it.
                try await running.pass { stub.posts.all.count == 5 }
                try await running.settle()
                #expect(try await running.outcomes() == [:])
                stub.breakDown(nil)
                let passed = try await running.pass { try await running.isAllDone() }
                // Each attempt may have been sent, so the push waits twice as long after the next.
                #expect(passed <= .seconds(150 << 4))
                #expect(try await running.outcomes() == [.sent: 1])
                #expect(try await running.audit().balances)
            }
        }
    }

    @Test func `changed settings of gorush after a broken connection are detected before the next push`() async throws {
        try await withStubGorush { stub in
            let world = try World()
            try await world.withDelivery(to: await stub.url) { running in
                try await running.accept([iosPush(1)])
                try await running.settle()
                stub.configuration.isSync = false
                stub.next(.reset)
                try await running.accept([iosPush(2)], message: 2)
                try await running.settle()
                #expect(running.loop.healthIssues.contains { $0.contains("set core.sync: true") })
                #expect(stub.notifications.all.count == 1)
            }
        }
    }

    @Test func `a push in flight at a crash is posted again under its collapse identifier`() async throws {
        try await withStubGorush { stub in
            let world = try World()
            stub.next(.hang, takesBatch: true)
            stub.next(.hang, takesBatch: true)
            let url = await stub.url
            let crashes = Recorder<World>()
            try await world.withDelivery(to: url, { $0.drainLimit = .zero }) { running in
                try await running.accept([iosPush(1), androidPush(1)])
                await stub.waitForNotifications(count: 2)
                crashes.append(try world.crashed())
            }
            let crashed = try #require(crashes.all.first)
            try await crashed.withDelivery(to: url) { running in
                try await running.settle()
                #expect(try await running.outcomes() == [.sent: 2])
                #expect(try await running.audit().balances)
            }
            let each = Dictionary(grouping: stub.notifications.all) { $0.tokens }
            #expect(each.count == 2)
            for notifications in each.values {
                #expect(notifications.count == 2)
                #expect(Set(notifications.map(\.collapseIdentifier)).count == 1)
                #expect(Set(notifications.map(\.identifier)).count == 2)
            }
        }
    }

    @Test func `a crash after the response causes no further post`() async throws {
        try await withStubGorush { stub in
            let world = try World()
            let url = await stub.url
            let crashes = Recorder<World>()
            try await world.withDelivery(to: url) { running in
                try await running.accept((0..<20).map { iosPush($0) })
                try await running.settle()
                #expect(try await running.isAllDone())
                crashes.append(try world.crashed())
            }
            try await crashes.all[0].withDelivery(to: url) { running in try await running.settle() }
            #expect(stub.notifications.all.count == 20)
        }
    }

    @Test func `a shutdown waits for requests in flight, up to a limit`() async throws {
        for isPatient in [true, false] {
            try await withStubGorush { stub in
                let world = try World()
                // The response is correct, but slow.
                stub.next(isPatient ? .drip(interval: .milliseconds(5)) : .hang, takesBatch: true)
                try await world.withDelivery(to: await stub.url, { $0.drainLimit = isPatient ? .seconds(10) : .zero }) { running in
                    try await running.accept([iosPush(1)])
                    await stub.waitForNotifications(count: 1)
                }
                #expect(try await world.count("state = 1") == (isPatient ? 1 : 0))
                #expect(try await world.count("state = 7") == (isPatient ? 0 : 1))
                #expect(try await world.count("state = 6") == 0)
            }
        }
    }

    @Test(arguments: [Duration.seconds(-86_400), .seconds(80_000)])
    func `T6: a wall clock that jumps changes no delay`(_ jump: Duration) async throws {
        try await withStubGorush { stub in
            let world = try World()
            try await world.withDelivery(to: await stub.url) { running in
                stub.fail(token: iosToken(1), with: "TooManyRequests")
                try await running.accept([iosPush(1)])
                try await running.settle()
                #expect(stub.notifications.all.count == 1)
                stub.fail(token: iosToken(1), with: nil)
                world.wallClock.advance(by: jump)
                // New pushes are not delayed, whatever their time of acceptance.
                try await running.accept([iosPush(2)], message: 2)
                try await running.settle()
                #expect(try await running.outcomes() == [.sent: 1])
                let passed = try await running.pass { try await running.isAllDone() }
                #expect(passed <= .seconds(61))
                #expect(try await running.outcomes() == [.sent: 2])
            }
        }
    }

    @Test func `T6: a push expires by the wall clock, also while gorush accepts no request`() async throws {
        try await withStubGorush { stub in
            let world = try World()
            try await world.withDelivery(to: await stub.url) { running in
                stub.breakDown(.answer(status: 503))
                try await running.accept([iosPush(1), androidPush(1)])
                try await running.settle()
                world.wallClock.advance(by: .seconds(86_401))
                try await running.accept([iosPush(2)], message: 2)
                let passed = try await running.pass { try await running.store.queuedPushCount() == 1 }
                #expect(passed <= UncertainAttempts.interval + Schedule.longestPause)
                #expect(try await running.outcomes() == [.expired: 2])
                stub.breakDown(nil)
                try await running.pass { try await running.isAllDone() }
                #expect(stub.notifications.all.map(\.tokens) == [[iosToken(2)]])
            }
        }
    }

    @Test func `a delay that a wrong clock has set ends at the next start`() async throws {
        try await withStubGorush { stub in
            let world = try World()
            try await world.withStore { store in
                try await world.accept([iosPush(1)], in: store)
                var update = OutboxUpdate()
                update.pushes = [.init(id: 1, .retry(at: World.start.advanced(by: .seconds(200_000)), isUnknown: false))]
                _ = try await store.update(update, at: World.start)
            }
            try await world.withDelivery(to: await stub.url) { running in
                await stub.waitForNotifications(count: 1)
            }
        }
    }

    @Test func `gorush's responses are kept while the disk is full`() async throws {
        try await withStubGorush { stub in
            let world = try World()
            let disk = try FaultyDisk(database: world.database)
            try await world.withDelivery(to: await stub.url) { running in
                let mayAnswer = Condition(false)
                stub.next(.delay(until: mayAnswer), takesBatch: true)
                try await running.accept([androidPush(1)])
                await stub.waitForNotifications(count: 1)

                disk.fail(.changes, with: .full)
                mayAnswer.change { $0 = true }
                for _ in 0..<3 {
                    try await running.settle()
                    world.advance(by: .seconds(1))
                }
                try await running.settle()
                #expect(disk.failureCount > 1)
                #expect(try await running.outcomes() == [:])

                disk.heal()
                try await running.pass { try await running.isAllDone() }
                #expect(try await running.outcomes() == [.sent: 1])
                #expect(stub.notifications.all.count == 1)
                #expect(try await running.audit().balances)
            }
        }
    }

    @Test func `changed routes take over the pushes of the earlier ones`() async throws {
        try await withStubGorush { stub in
            let world = try World()
            let url = await stub.url
            stub.breakDown(.answer(status: 503))
            let topics = ["im.status.ethereum", "im.status.desktop"]
            try await world.withDelivery(to: url, { $0.routes = [.init(name: "old", pushes: .apnTopics(topics))] }) { running in
                try await running.accept([iosPush(1), iosPush(2, topic: topics[1]), androidPush(3)])
                try await running.settle()
                #expect(try await running.store.queuedPushCounts() == ["old": 2, "android": 1])
            }
            try await world.withDelivery(to: url, { $0.routes = [.init(name: "new", pushes: .apnTopics([topics[1]]))] }) { running in
                try await running.settle()
                #expect(try await running.store.queuedPushCounts() == ["new": 1, "ios": 1, "android": 1])
                stub.breakDown(nil)
                try await running.pass { try await running.isAllDone() }
            }
            #expect(stub.notifications.all.count == 3)
        }
    }
}
