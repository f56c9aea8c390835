import Bytes
import Envelope
import PushProtocol
import Store
import TestSupport
import Testing
import Wire

/// The rules for targets that untrusted clients invent, compared with proven targets.
@Suite(.safetyNet)
struct PushTrustTests {
    private static let provenNumber = 1_000

    /// Returns a push of the app whose registrations the tests make.
    private func push(_ number: Int, to target: Int) -> AcceptedPush {
        var push = StoreTests.push(number)
        push.target = installation(target)
        push.apnTopic = "im.status.ethereum"
        return push
    }

    private func deliver(to row: Int64, version: UInt64 = 1, in store: any PushStore) async throws {
        var update = OutboxUpdate()
        update.tokens = [.delivered(TargetRegistration(row: row, version: version))]
        update.deliveredBundleIDs = [("", "im.status.ethereum")]
        _ = try await store.update(update, at: start)
    }

    @Test(arguments: StoreUnderTest.all)
    func `a push to a proven target is among the next, whatever number of invented targets has pushes`(kind: StoreUnderTest) async throws {
        try await kind.withStore { store in
            let row = try await store.register(registration(installation(Self.provenNumber)))
            try await deliver(to: row, in: store)
            try await store.enqueue((1...300).map { push($0, to: $0) })
            try await store.enqueue([push(301, to: Self.provenNumber), push(302, to: Self.provenNumber)])
            #expect(try await store.duePushes(route: "", at: start, limit: 2).map(\.id) == [301, 302])
            #expect(try await store.duePushes(route: "", at: start, limit: 10).map(\.id) == [301, 302, 1, 2, 3, 4, 5, 6, 7, 8])
            #expect(try await store.nextAttempt(route: "") != nil)
            // The earliest attempt counts, whatever its target.
            try await store.attempt([301, 302], until: start.advanced(by: .seconds(60)))
            #expect(try await store.nextAttempt(route: "").map { $0 < start } == true)
        }
    }

    @Test(arguments: StoreUnderTest.all)
    func `a push that is accepted together with what is known of its target has the target's trust`(kind: StoreUnderTest) async throws {
        try await kind.withStore { store in
            try await store.register(registration(installation(1)))
            try await deliver(to: try await store.register(registration(installation(2))), in: store)
            let pushes = [push(1, to: 1), push(2, to: 2)]
            var lookups = Lookups()
            for push in pushes { lookups.targets[push.target] = [] }
            try await store.apply(at: start, loading: lookups) { batch in
                for push in pushes { batch.enqueue(push, message: 1) }
            }
            let limits = Dictionary(uniqueKeysWithValues: PushTrust.allCases.map { ($0, 9) })
            let waiting = try await store.waitingPushes(route: "", at: start, limits: limits).pushes
            #expect(waiting.sorted { $0.id < $1.id }.map(\.trust) == [.unproven, .proven])
        }
    }

    @Test(arguments: StoreUnderTest.all)
    func `retries to invented targets do not delay those to proven targets`(kind: StoreUnderTest) async throws {
        try await kind.withStore { store in
            let row = try await store.register(registration(installation(Self.provenNumber)))
            try await deliver(to: row, in: store)
            try await store.enqueue((1...100).map { push($0, to: $0) } + [push(101, to: Self.provenNumber)])
            try await store.attempt(Array(1...101), until: start)
            #expect(try await store.duePushes(route: "", at: start, limit: 4).map(\.id) == [101, 1, 2, 3])
        }
    }

    @Test(arguments: StoreUnderTest.all)
    func `the first delivery to a target moves its other pushes forward`(kind: StoreUnderTest) async throws {
        try await kind.withStore { store in
            let row = try await store.register(registration(installation(Self.provenNumber)))
            try await store.enqueue((1...100).map { push($0, to: $0) } + (101...103).map { push($0, to: Self.provenNumber) })
            #expect(try await store.duePushes(route: "", at: start, limit: 2).map(\.id) == [1, 2])
            try await deliver(to: row, in: store)
            #expect(try await store.duePushes(route: "", at: start, limit: 4).map(\.id) == [101, 102, 103, 1])
        }
    }

    /// Anyone can register a token of another app, so the proof is of the token with its bundle id.
    @Test("A registration that changes its device token or bundle id is proven no longer", arguments: StoreUnderTest.all)
    func renewed(kind: StoreUnderTest) async throws {
        let changes: [(String, String, isProven: Bool)] = [
            ("device token 1", "im.status.ethereum", true), ("device token 1", "org.other", false),
            ("device token 2", "im.status.ethereum", false),
        ]
        for (token, bundleID, isProven) in changes {
            try await kind.withStore { store in
                try await deliver(to: store.register(registration(installation(1))), in: store)
                var renewed = registration(installation(1), version: 2)
                (renewed.content.deviceToken, renewed.content.apnTopic) = (DeviceToken(token), bundleID)
                _ = try await store.apply(at: start) { [renewed] in $0.register(renewed, topics: topics) }
                var push = push(1, to: 1)
                push.apnTopic = bundleID
                try await store.enqueue([push])
                let due = try await store.duePushes(route: "", at: start, limit: 9)
                #expect(due.map { $0.provenAt != nil } == [isProven], "\(token) \(bundleID)")
            }
        }
    }

    /// All of them once stood in one round, and the first push of another device came after 5,000 of an untrusted client.
    @Test(arguments: StoreUnderTest.all)
    func `each device keeps one push a round when its bundle id becomes known`(kind: StoreUnderTest) async throws {
        try await kind.withStore { store in
            func invented(_ number: Int, to target: Int) -> AcceptedPush {
                var push = push(number, to: target)
                push.apnTopic = "org.invented"
                return push
            }
            try await store.enqueue((1...40).map { invented($0, to: ($0 - 1) % 8) })
            var update = OutboxUpdate()
            update.deliveredBundleIDs = [("", "org.invented")]
            _ = try await store.update(update, at: start)
            try await store.enqueue([invented(41, to: 100), invented(42, to: 0)])
            #expect(try await store.duePushes(route: "", at: start, limit: 9).map(\.id) == [1, 2, 3, 4, 5, 6, 7, 8, 41])
            #expect(try await store.duePushes(route: "", at: start, limit: 50).map(\.id).last == 42)
        }
    }

    @Test(arguments: StoreUnderTest.all)
    func `a device keeps one push a round when it becomes proven`(kind: StoreUnderTest) async throws {
        try await kind.withStore { store in
            let row = try await store.register(registration(installation(1)))
            let other = try await store.register(registration(installation(2)))
            try await deliver(to: other, in: store)
            try await store.enqueue((1...5).map { push($0, to: 1) })
            try await deliver(to: row, in: store)
            try await store.enqueue([push(6, to: 2), push(7, to: 1)])
            #expect(try await store.duePushes(route: "", at: start, limit: 9).map(\.id) == [1, 6, 2, 3, 4, 5, 7])
        }
    }

    @Test(arguments: StoreUnderTest.all)
    func `pushes to an unknown bundle id have slots of their own until one of them is delivered`(kind: StoreUnderTest) async throws {
        try await kind.withSmallQueue { store in
            func enqueue(_ numbers: ClosedRange<Int>, bundleID: String) async throws -> Int {
                let before = try await store.queuedPushCount()
                try await store.enqueue(
                    numbers.map {
                        var push = push($0, to: $0)
                        push.apnTopic = bundleID
                        return push
                    })
                return try await store.queuedPushCount() - before
            }
            #expect(try await enqueue(1...50, bundleID: "org.invented") == 4)
            #expect(store.refusedPushCounts == ["": 46])
            let facts = try await store.auditFacts()
            #expect(facts.rowCounts == [.refused: 46] && Audit(facts).balances)
            // A bundle id that a setting names, or that is proven, has the slots of all others.
            #expect(try await enqueue(51...60, bundleID: "org.named") == 10)
            var update = OutboxUpdate()
            update.deliveredBundleIDs = [("", "org.invented")]
            _ = try await store.update(update, at: start)
            #expect(try await enqueue(61...70, bundleID: "org.invented") == 10)
        }
    }

    /// 300 of the 400 slots are for devices that never worked.
    @Test(arguments: StoreUnderTest.all)
    func `when never-worked devices have filled their share, a push takes the place of the oldest of the device with the most`(
        kind: StoreUnderTest
    ) async throws {
        try await kind.withSmallQueue { store in
            func pushes(_ numbers: ClosedRange<Int>, to device: String) -> [AcceptedPush] {
                numbers.map {
                    var push = push($0, to: $0)
                    (push.apnTopic, push.deviceToken) = ("org.named", DeviceToken(device))
                    return push
                }
            }
            try await store.enqueue(pushes(1...100, to: "stranger") + pushes(101...290, to: "another") + pushes(291...300, to: "phone"))
            try await store.lease([101])
            try await store.enqueue(pushes(301...301, to: "new phone"))
            #expect(store.refusedPushCounts == [:])
            let facts = try await store.auditFacts()
            #expect(facts.rowCounts == [.expired: 4] && facts.openCount == 297 && Audit(facts).balances)
            // The leased one is being attempted, so the next four have made room.
            let due = try await store.duePushes(route: "", at: start, limit: 999).map(\.id)
            #expect(due == (1...301).filter { !(101...105).contains($0) }.map(Int64.init))
            // What is sent to the new phone never ends for others' sake.
            for number in 302...330 { try await store.enqueue(pushes(number...number, to: "another")) }
            let tokens = try await store.duePushes(route: "", at: start, limit: 999).map(\.push.deviceToken)
            #expect(tokens.count { $0 == "new phone" } == 1 && tokens.count { $0 == "phone" } == 10)
            #expect(tokens.count { $0 == "stranger" } == 100 && store.refusedPushCounts == [:])
        }
    }
}
