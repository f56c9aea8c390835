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
            let waiting = try await store.duePushes(route: "", at: start, limit: 9)
            #expect(waiting.sorted { $0.id < $1.id }.map(\.trust) == [.unproven, .proven])
        }
    }

    @Test(arguments: StoreUnderTest.all)
    func `the first delivery to a target gives its other pushes its trust`(kind: StoreUnderTest) async throws {
        try await kind.withStore { store in
            let row = try await store.register(registration(installation(Self.provenNumber)))
            try await store.enqueue((1...3).map { push($0, to: $0) } + (101...103).map { push($0, to: Self.provenNumber) })
            try await deliver(to: row, in: store)
            #expect(try await store.duePushes(route: "", at: start, limit: 3).map(\.id) == [4, 5, 6])
        }
    }

    /// Anyone can register a token of another app, so the proof is of the token with its bundle id.
    @Test(arguments: StoreUnderTest.all)
    func `a registration that changes its device token, its kind or bundle id is proven no longer`(kind: StoreUnderTest) async throws {
        let changes: [(String, TokenType, String, isProven: Bool)] = [
            ("device token 1", .apn, "im.status.ethereum", true), ("device token 1", .apn, "org.other", false),
            ("device token 2", .apn, "im.status.ethereum", false), ("device token 1", .firebase, "im.status.ethereum", false),
        ]
        for (token, type, bundleID, isProven) in changes {
            try await kind.withStore { store in
                try await deliver(to: store.register(registration(installation(1))), in: store)
                var renewed = registration(installation(1), version: 2)
                (renewed.content.deviceToken, renewed.content.tokenType, renewed.content.apnTopic) = (DeviceToken(token), type, bundleID)
                _ = try await store.apply(at: start) { [renewed] in $0.register(renewed, topics: topics) }
                var push = push(1, to: 1)
                (push.tokenType, push.apnTopic) = (type, bundleID)
                try await store.enqueue([push])
                let due = try await store.duePushes(route: "", at: start, limit: 9)
                #expect(due.map { $0.provenAt != nil } == [isProven], "\(token) \(type) \(bundleID)")
            }
        }
    }

    /// 0.1.0 has stored the code of a token of Apple's as it was written.
    @Test(arguments: StoreUnderTest.all)
    func `a renewed registration whose token has an earlier release's code stays proven`(kind: StoreUnderTest) async throws {
        func setBackCode<Shared: SharedStore>(of token: DeviceToken, in store: Shared) async throws {
            let code = try store.sealing.code(of: token)
            try await store.writing { try $0.database.add("UPDATE registration SET token_code = $1", code) }
        }
        for (token, isProven) in [("ABCD", true), ("ABCE", false)] {
            try await kind.withStore { store in
                var registration = registration(installation(1))
                registration.content.deviceToken = "ABCD"
                try await deliver(to: store.register(registration), in: store)
                let shared: any SharedStore = try #require(store as? any SharedStore)
                try await setBackCode(of: DeviceToken(token), in: shared)
                registration.content.version = 2
                try await store.register(registration)
                try await store.enqueue([push(1, to: 1)])
                #expect(try await store.duePushes(route: "", at: start, limit: 9).map { $0.provenAt != nil } == [isProven])
            }
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

    /// Pushes of a named bundle id to a device. 300 of the 400 slots are for devices that never worked.
    private func pushes(_ numbers: ClosedRange<Int>, to device: String) -> [AcceptedPush] {
        numbers.map {
            var push = push($0, to: $0)
            (push.apnTopic, push.deviceToken) = ("org.named", DeviceToken(device))
            return push
        }
    }

    private func counts(in store: any PushStore) async throws -> [String: Int] {
        Dictionary(try await store.duePushes(route: "", at: start, limit: 9_999).map { ($0.push.deviceToken.text, 1) }, uniquingKeysWith: +)
    }

    @Test(arguments: StoreUnderTest.all)
    func `in a full queue the newest push of the device with the most gives way, and nobody who has few is rejected`(
        kind: StoreUnderTest
    ) async throws {
        try await kind.withSmallQueue { store in
            try await store.enqueue(pushes(1...190, to: "stranger") + pushes(191...290, to: "another") + pushes(291...300, to: "phone"))
            for number in 301...303 { try await store.enqueue(pushes(number...number, to: "new phone")) }
            #expect(store.refusedPushCounts == ["": 3])
            var facts = try await store.auditFacts()
            #expect(facts.rowCounts == [.refused: 3] && facts.openCount == 300 && Audit(facts).balances)
            let due = try await store.duePushes(route: "", at: start, limit: 999).map(\.id).sorted()
            #expect(due == (1...303).filter { !(188...190).contains($0) }.map(Int64.init))
            // The one with the most is itself rejected.
            for number in 304...310 { try await store.enqueue(pushes(number...number, to: "stranger")) }
            #expect(store.refusedPushCounts == ["": 10])
            facts = try await store.auditFacts()
            #expect(facts.rowCounts == [.refused: 10] && facts.openCount == 300 && Audit(facts).balances)
            #expect(try await counts(in: store) == ["stranger": 187, "another": 100, "phone": 10, "new phone": 3])
        }
    }

    @Test(arguments: StoreUnderTest.all, [(phones: 1, each: 450), (10, 45), (15, 30)])
    func `a device that has worked displaces whoever is heaviest, and one that never worked what is above a burst`(
        kind: StoreUnderTest, filling: (phones: Int, each: Int)
    ) async throws {
        try await kind.withSmallQueue { store in
            func worked(_ numbers: some Sequence<Int>, by installation: Int) -> [AcceptedPush] {
                numbers.map {
                    var push = push($0, to: installation)
                    push.deviceToken = DeviceToken("worked \(installation)")
                    return push
                }
            }
            for number in 2_000...2_000 + filling.phones {
                try await deliver(to: store.register(registration(installation(number))), in: store)
            }
            for round in 0..<filling.each {
                try await store.enqueue(
                    (1...filling.phones).flatMap { worked([round * filling.phones + $0], by: 2_000 + $0) })
            }
            #expect(try await store.queuedPushCount() == 400)
            var refusedCount = filling.phones * filling.each - 400
            #expect(store.refusedPushCounts == ["": refusedCount])
            for number in [501, 502] { try await store.enqueue(pushes(number...number, to: "new phone \(number)")) }
            refusedCount += 2
            #expect(store.refusedPushCounts == ["": refusedCount])
            try await store.enqueue(worked([503], by: 2_000))
            let last = Int64(filling.phones * filling.each + 3)
            let waiting = Set(try await store.duePushes(route: "", at: start, limit: 9_999).map(\.id))
            // The new phones' pushes, and the last one.
            let isExpected = [filling.each > 30, filling.each > 30, true]
            #expect((last - 2...last).map(waiting.contains) == isExpected)
            #expect(try await store.queuedPushCount() == 400)
            #expect(Audit(try await store.auditFacts()).balances)
        }
    }

    @Test(arguments: StoreUnderTest.all)
    func `calls have slots of their own, of which the oldest of the device with the most gives way`(kind: StoreUnderTest) async throws {
        try await kind.withSmallQueue { store in
            try await store.enqueue(pushes(1...300, to: "stranger"))
            func call(_ number: Int, to token: String) async throws {
                var call = GatewayNotification(
                    platform: .ios, token: DeviceToken(token), topic: "org.named", kind: .voip, priority: .high, data: [:])
                call.isCall = true
                _ = try await store.enqueue(
                    [AcceptedNotification(call, digest: hash(number))], repeatsSince: nil, isDiscarded: false, at: start)
            }
            // 25 of 50 slots are for calls to devices that never worked.
            for number in 1...25 { try await call(number, to: "ab") }
            try await call(26, to: "cd")
            let calls = try await store.waitingCalls(route: "", limit: 99)
            #expect(calls.count == 25 && calls.first?.row == 302 && Set(calls.map(\.device)).count == 2)
            await #expect(throws: StoreError.queueFull) { try await call(27, to: "ab") }
        }
    }
}
