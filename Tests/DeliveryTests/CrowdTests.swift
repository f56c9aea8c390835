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

    private static let queues = [
        (queueCount: 80, devices: 1, haveWorked: true, newRings: false), (80, 30, true, false), (80, 1, false, true),
        (80, 300, false, false),
    ]
    private static let wholeQueues = [
        (4_000, 60, true, false), (1_000_000, 1, true, false), (1_000_000, 60, true, false), (1_000_000, 10_000, false, true),
    ]

    @Test(
        "When gorush is back after strangers have filled the queue, an honest phone and a call ring",
        arguments: areWhole ? wholeQueues : queues)
    func fullQueue(queueCount: Int, devices: Int, haveWorked: Bool, newRings: Bool) async throws {
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
                let before = stub.notifications.all.count
                func honestRings() -> Bool {
                    stub.notifications.all.dropFirst(before).contains { $0.tokens == [androidToken(1)] } && hasRung(3, at: stub)
                }
                if areWhole {
                    try await running.pass { honestRings() && (!newRings || hasRung(2, at: stub)) }
                } else {
                    try await running.pass(.seconds(600))
                    #expect(try await running.isAllDone())
                }
                #expect(honestRings())
                // A phone that never worked displaces only such phones, and only those with more.
                #expect(hasRung(2, at: stub) == newRings)
                #expect(try await running.audit().balances)
            }
        }
    }

    @Test func `strangers' phones that hang in calls delay no honest call and no push`() async throws {
        try await withStubGorush { stub in
            stub.configuration.workerCount = 96
            let world = try World()
            try await world.withDelivery(to: await stub.url, { $0.drainLimit = .zero }) { running in
                try await running.accept([androidPush(1)])
                try await running.pass { try await running.isAllDone() }
                let strangers = 100..<130
                stub.breakDown(.hang, tokens: Set(strangers.map(androidToken)))
                try await accept(strangers.flatMap { device in (1...4).map { call(device, $0) } }, in: running)
                // Sixteen calls of phones that never worked are in flight.
                await stub.posts.wait(for: 17)
                for number in 1...5 {
                    try await accept([call(1, number)], in: running)
                    try await running.accept([androidPush(1), androidPush(200 + number)], message: Int64(1 + number))
                    await stub.waitForNotifications(count: 1 + 3 * number)
                    running.world.advance(by: .seconds(2))
                }
                #expect(stub.posts.all.count == 17 + 15)
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

    @Test func `after a day off a fresh push does not wait for those that have expired`() async throws {
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
                try await running.accept([androidPush(0)])
                await stub.waitForNotifications(count: 1)
                #expect(try await running.store.queuedPushCount() > 0)
                try await running.pass { try await running.isAllDone() }
                #expect(try await running.outcomes() == [.sent: 1, .expired: Int64(count)])
            }
        }
    }

    @Test func `phones of a stranger that worked and die at night leave a server of forty phones ready`() async throws {
        try await withStubGorush { stub in
            let world = try World()
            try await world.withDelivery(to: await stub.url) { running in
                let (honest, strangers) = ((0..<40).map { androidPush($0) }, (100..<125).map { androidPush($0) })
                try await running.accept(honest + strangers)
                try await running.pass { try await running.isAllDone() }
                for push in strangers { stub.fail(token: push.deviceToken.text, with: "The service is currently unavailable.") }
                try await running.accept(strangers, message: 2)
                try await running.pass(.seconds(900)) { #expect(running.loop.healthIssues == []) }
                try await running.accept(honest, message: 3)
                #expect(try await running.pass { try await running.outcomes()[.sent] == 105 } <= .seconds(2))
            }
        }
    }
}
