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

/// Whether the crowds are those of the worst day, which takes minutes.
private let areWhole = ProcessInfo.processInfo.environment["CROWDS"] == "all"

/// Strangers with many pushes, calls or phones, beside honest phones that get theirs.
@Suite(areWhole ? .fewAtATime(minutes: 60) : .safetyNet) struct CrowdTests {
    private func call(_ device: Int, _ number: Int) -> AcceptedNotification {
        var notification = GatewayNotification(
            platform: .android, token: DeviceToken(androidToken(device)), kind: .voip, priority: .high, data: ["number": "\(number)"])
        notification.isCall = true
        return AcceptedNotification(notification, digest: SHA256.hash(Array("call \(device) \(number)".utf8)))
    }

    private func accept(_ calls: [AcceptedNotification], in running: Running) async throws {
        _ = try await running.store.enqueue(calls, repeatsSince: nil, isDiscarded: false, at: running.world.wallClock.now)
        running.loop.wake()
    }

    private func hasRung(_ device: Int, at stub: StubGorush) -> Bool {
        stub.notifications.all.contains { $0.tokens.contains(androidToken(device)) }
    }

    @Test func `a call goes over a connection of the last second or a new one, and a push over any`() async throws {
        try await withStubGorush { stub in
            let connections = Recorder<Int>()
            stub.failByConnection { number in
                connections.append(number)
                return nil
            }
            try await World().withDelivery(to: await stub.url) { running in
                func post(isCall: Bool) async throws {
                    if isCall {
                        try await accept([call(1, connections.all.count)], in: running)
                    } else {
                        try await running.accept([androidPush(1)], message: Int64(connections.all.count))
                    }
                    try await running.pass { try await running.isAllDone() }
                }
                try await post(isCall: false)
                try await post(isCall: true)
                try await running.pass(.seconds(2))
                try await post(isCall: false)
                try await running.pass(.seconds(2))
                try await post(isCall: true)
                #expect(connections.all == [0, 0, 0, 1])
            }
        }
    }

    private static let queues = [
        (queueCount: 80, devices: 1, haveWorked: true, newRings: true), (80, 30, true, false), (80, 1, false, true),
        (80, 300, false, false),
    ]
    private static let wholeQueues = [
        (4_000, 1, true, true), (4_000, 60, true, true), (4_000, 10_000, false, false), (1_000_000, 1, true, true),
        (1_000_000, 60, true, true), (1_000_000, 10_000, false, true),
    ]

    @Test(arguments: areWhole ? wholeQueues : queues)
    func `when gorush is back after strangers have filled the queue, an honest phone and a call ring`(
        queueCount: Int, devices: Int, haveWorked: Bool, newRings: Bool
    ) async throws {
        try await withStubGorush { stub in
            let world = try World()
            try await world.withDelivery(to: await stub.url, maximumQueueCount: queueCount) { running in
                let strangers = (1...devices).map { androidPush(1_000 + $0) }
                let honest = androidPush(1)
                let proven = [honest] + (haveWorked ? strangers : [])
                try await running.store.apply(at: World.start.advanced(by: .seconds(-10))) { batch in
                    for phone in proven { batch.register(registration(of: phone), topics: QueryTopics(plain: 1, prefixed: 2)) }
                }
                try await running.accept(proven)
                try await running.pass { try await running.isAllDone() }
                stub.breakDown(.reset, hidesConfiguration: true)
                let surplus = max(220, queueCount / 10)
                for first in stride(from: 0, to: queueCount + surplus, by: 10_000) {
                    try await running.store.apply(at: world.wallClock.now) { batch in
                        for number in first..<min(first + 10_000, queueCount + surplus) {
                            batch.enqueue(strangers[number % devices], message: Int64(2 + number / devices))
                        }
                    }
                }
                // The route is paused now, so that the call is not tried before gorush is back.
                try await running.settle()
                let refused = try await running.world.count("reason = 'queue full'")
                #expect(refused >= surplus - 20)
                try await running.accept([honest, androidPush(2)], message: 5_000)
                try await accept([call(3, 1)], in: running)
                #expect(try await running.store.queuedPushCount() <= queueCount + queueCount / 8)
                stub.breakDown(nil)
                let expected = Set(newRings ? [1, 2, 3] : [1, 3])
                let before = stub.notifications.all.count
                if areWhole {
                    // Not after all the others.
                    world.advance(by: CircuitBreaker.trialInterval)
                    await stub.notifications.wait { all in
                        let rings = all.dropFirst(before)
                        return expected.allSatisfy { number in rings.contains { $0.tokens == [androidToken(number)] } }
                    }
                } else {
                    try await running.pass(.seconds(600))
                    #expect(try await running.isAllDone())
                }
                let rings = stub.notifications.all.dropFirst(before).flatMap(\.tokens)
                // A phone that never worked displaces only such phones with more, and what phones that worked have above thirty.
                #expect(Set((1...3).filter { rings.contains(androidToken($0)) }) == expected)
                #expect(try await running.audit().balances)
            }
        }
    }

    @Test func `a stranger's pushes at one server take no room at the other one`() async throws {
        let world = try await World(.postgresql)
        try await withStubGorush { stub in
            let url = await stub.url
            try await world.withDelivery(of: "one", to: url, maximumQueueCount: 80) { one in
                try await world.withDelivery(of: "two", to: url, maximumQueueCount: 80) { two in
                    // A start moves what was accepted before it to its route, where it is counted later.
                    try await one.settle()
                    try await two.settle()
                    stub.breakDown(.reset, hidesConfiguration: true)
                    // Sixty slots are for phones that never worked.
                    for number in 1...70 { try await one.accept([androidPush(1_000)], message: Int64(number)) }
                    try await two.accept((1...60).map { androidPush($0) })
                    #expect(try await world.count("finished_at IS NULL") == 120)
                    // The stranger's push of the server that is full gives way.
                    try await one.accept([androidPush(61)])
                    // Nobody has more than one at the other server.
                    try await two.accept([androidPush(62)])
                    #expect(try await world.count("reason = 'queue full'") == 12)
                    stub.breakDown(nil)
                    try await two.pass { (1...61).allSatisfy { hasRung($0, at: stub) } }
                    try await one.pass { try await one.isAllDone() }
                    #expect(stub.notifications.all.count { $0.tokens == [androidToken(1_000)] } == 59)
                    #expect(try await one.audit().balances)
                }
            }
        }
    }

    /// The route has half of gorush's workers.
    @Test(arguments: [(strangers: 30, workers: 96, hanging: 9), (2, 64, 4), (2, 8, 1), (2, 4, 1)])
    func `strangers' phones that hang in calls delay no honest call and no push`(
        strangers: Int, workers: Int, hanging: Int
    ) async throws {
        try await withStubGorush { stub in
            stub.configuration.workerCount = workers
            let world = try World()
            try await world.withDelivery(to: await stub.url, { $0.drainLimit = .zero }) { running in
                try await running.accept([androidPush(1)])
                try await running.pass { try await running.isAllDone() }
                let strangers = 100..<100 + strangers
                stub.breakDown(.hang, tokens: Set(strangers.map(androidToken)))
                try await accept(strangers.flatMap { device in (1...4).map { call(device, $0) } }, in: running)
                await stub.posts.wait(for: 1 + hanging)
                for number in 1...5 {
                    try await accept([call(1, number)], in: running)
                    try await running.accept([androidPush(1), androidPush(200 + number)], message: Int64(1 + number))
                    await stub.waitForNotifications(count: 1 + 3 * number)
                    running.world.advance(by: .seconds(2))
                }
                #expect(stub.posts.all.count == 1 + hanging + 15)
            }
        }
    }

    @Test(arguments: [true, false], [4, 32, 96])
    func `500 phones that worked and hang in calls delay no push, and those that hang in pushes no call`(
        areCalls: Bool, workerCount: Int
    ) async throws {
        try await withStubGorush { stub in
            stub.configuration.workerCount = workerCount
            let world = try World()
            try await world.withDelivery(to: await stub.url, { $0.drainLimit = .zero }) { running in
                let phones = 100..<600
                try await running.accept(phones.map { androidPush($0) } + [androidPush(1)])
                // A route that has met calls leaves an eighth of gorush's workers to them.
                try await accept([call(1, 0)], in: running)
                try await running.pass { try await running.isAllDone() }
                stub.breakDown(.hang, tokens: Set(phones.map(androidToken)))
                for round in 1...4 {
                    if areCalls {
                        try await accept(phones.map { call($0, round) }, in: running)
                    } else {
                        try await running.accept(phones.map { androidPush($0) }, message: Int64(1 + round))
                    }
                    let count = stub.notifications.all.count
                    if areCalls {
                        try await running.accept([androidPush(1), androidPush(1_000 + round)], message: Int64(1 + round))
                    } else {
                        try await accept([call(1, round), call(1_000 + round, 1)], in: running)
                    }
                    await stub.waitForNotifications(count: count + 2)
                    running.world.advance(by: .seconds(2))
                }
            }
        }
    }

    @Test func `of thousands of calls to one phone a few ring, the rest ends with its minute, and new phones have room`() async throws {
        try await withStubGorush { stub in
            let world = try World()
            let (count, queueCount) = areWhole ? (100_000, 1_000_000) : (1_000, 1_600)
            let placeCount = queueCount / 8 / 2
            try await world.withDelivery(to: await stub.url, maximumQueueCount: queueCount) { running in
                let mayAnswer = Condition(false)
                stub.breakDown(.delay(until: mayAnswer), tokens: [androidToken(1)])
                // A proxy answers that there is no room once they fill their places.
                for number in 0..<count { try? await accept([call(1, number)], in: running) }
                await stub.posts.wait(for: 2)
                try await running.accept([androidPush(2)])
                await stub.waitForNotifications(count: 1)
                // Half of the places of calls are for phones that never worked.
                #expect(try await running.store.queuedPushCount() <= placeCount + 1)
                world.advance(by: WaitingCalls.lifetime + .seconds(1))
                mayAnswer.change { $0 = true }
                try await running.pass { try await running.isAllDone() }
                // The stub's late answers do not say what became of the two calls, and a call is not repeated.
                #expect(try await running.outcomes() == [.sent: 1, .expired: Int64(placeCount)])
                #expect(stub.posts.all.count == 3)
                #expect(try await running.audit().balances)
            }
        }
    }

    @Test func `after a day off a phone's fresh push does not wait for those that have expired, its own or others'`() async throws {
        try await withStubGorush { stub in
            let (world, count) = (try World(), areWhole ? 700_000 : 20_000)
            try await world.withStore { store in
                for first in stride(from: 0, to: count, by: 10_000) {
                    try await store.apply(at: world.wallClock.now) { batch in
                        for number in first..<first + 10_000 { batch.enqueue(androidPush(1 + number % 100), message: Int64(2 + number)) }
                    }
                }
            }
            world.advance(by: .seconds(25 * 3_600))
            try await world.withDelivery(to: await stub.url) { running in
                try await running.accept([androidPush(0), androidPush(1)])
                let posted = await stub.waitForNotifications(count: 2)
                #expect(Set(posted.flatMap(\.tokens)) == [androidToken(0), androidToken(1)])
                #expect(try await running.store.queuedPushCount() > 0)
                try await running.pass { try await running.isAllDone() }
                #expect(try await running.outcomes() == [.sent: 2, .expired: Int64(count)])
            }
        }
    }

    @Test func `beside 300 dead tokens of a stranger a phone in trouble is tried again within seconds`() async throws {
        try await withStubGorush { stub in
            stub.configuration.workerCount = 192
            let world = try World()
            try await world.withDelivery(to: await stub.url) { running in
                let phones = (0...300).map { iosPush($0) }
                try await running.accept(phones)
                try await running.pass { try await running.isAllDone() }
                for push in phones.dropFirst() { stub.fail(token: push.deviceToken.text, with: "BadDeviceToken") }
                stub.fail(token: phones[0].deviceToken.text, with: "ServiceUnavailable")
                try await running.accept(phones, message: 2)
                try await running.pass(.seconds(30))
                stub.fail(token: phones[0].deviceToken.text, with: nil)
                let late = try await running.pass { try await running.outcomes()[.sent] == 302 }
                #expect(late <= .seconds(30))
            }
        }
    }

    /// A sample of sixty phones is asked, of which thirty are half.
    @Test(arguments: [(25, true), (29, true), (30, false)])
    func `fewer than thirty phones that worked and die at night leave a server of forty other phones ready`(
        count: Int, isReady: Bool
    ) async throws {
        try await withStubGorush { stub in
            let world = try World()
            try await world.withDelivery(to: await stub.url) { running in
                let (honest, strangers) = ((0..<40).map { androidPush($0) }, (100..<100 + count).map { androidPush($0) })
                try await running.accept(honest + strangers)
                try await running.pass { try await running.isAllDone() }
                for push in strangers { stub.fail(token: push.deviceToken.text, with: "The service is currently unavailable.") }
                try await running.accept(strangers, message: 2)
                var wasReady = true
                try await running.pass(.seconds(900)) { wasReady = wasReady && running.loop.healthIssues == [] }
                #expect(wasReady == isReady)
                try await running.accept(honest, message: 3)
                #expect(try await running.pass { try await running.outcomes()[.sent] == Int64(80 + count) } <= .seconds(2))
                #expect(running.loop.healthIssues == [])
            }
        }
    }
}
