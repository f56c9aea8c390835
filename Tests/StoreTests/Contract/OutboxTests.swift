import Bytes
import Envelope
import PushProtocol
import StatusCrypto
import Store
import TestSupport
import Testing
import Wire

@Suite(.safetyNet)
struct OutboxTests {
    @Test(arguments: StoreUnderTest.all)
    func `a queued push keeps all its fields, also after a crash`(kind: StoreUnderTest) async throws {
        try await kind.withCrash { store in
            try await store.enqueue([push()], message: 42)
        } after: { store in
            _ = try await store.takeOverOutbox(routes: [], latest: start)
            let due = try await store.duePushes(route: "", at: start, limit: 9)
            #expect(due.map(\.push) == [push()] && due.map(\.request) == [42] && due.map(\.acceptedAt) == [start])
            #expect(due.map(\.attempts) == [0] && due.map(\.state) == [.queued] && due.map(\.uncertain) == [UncertainAttempts()])
        }
    }

    @Test(arguments: StoreUnderTest.all)
    func `a push is due when its time has come, and its attempts are counted`(kind: StoreUnderTest) async throws {
        try await kind.withStore { store in
            try await store.enqueue((1...5).map { push($0) })
            try await store.attempt([2], until: start.advanced(by: .seconds(5)))
            try await store.attempt([1], until: start.advanced(by: .seconds(9)), count: 2)
            #expect(try await store.duePushes(route: "", at: start, limit: 9).map(\.id) == [3, 4, 5])
            #expect(try await store.duePushes(route: "", at: start.advanced(by: .seconds(8)), limit: 9).map(\.id) == [3, 4, 5, 2])
            let all = try await store.duePushes(route: "", at: start.advanced(by: .seconds(9)), limit: 9)
            #expect(all.map(\.id) == [3, 4, 5, 1, 2] && all.map(\.attempts) == [0, 0, 0, 2, 1])
        }
    }

    @Test(arguments: StoreUnderTest.all)
    func `a push gets the present token of its registration, and is an orphan once that has unregistered or changed its app`(
        kind: StoreUnderTest
    ) async throws {
        try await kind.withStore { store in
            func register(_ version: UInt64, token: DeviceToken, topic: String = "topic") async throws {
                var registration = registration(version: version)
                registration.content.deviceToken = token
                registration.content.apnTopic = topic
                try await store.register(registration)
            }
            func due() async throws -> QueuedPush? { try await store.duePushes(route: "", at: start, limit: 1).first }
            try await register(1, token: "old")
            try await store.enqueue([push()])
            try await register(2, token: "new")
            #expect(try await due()?.push.deviceToken == "new")
            #expect(try await due()?.registration == TargetRegistration(row: 1, version: 2))
            try await register(3, token: "new", topic: "other")
            #expect(try await due()?.orphanReason == .otherApp)
            try await register(4, token: "new")
            #expect(try await due()?.orphanReason == nil)
            // The push was in flight when its device unregistered.
            try await store.unregister(version: 5)
            try await store.change([1], to: .retry(at: start, isUnknown: false))
            #expect(try await due() == nil)
        }
    }

    @Test(arguments: StoreUnderTest.all)
    func `a due push has the evidence about its token`(kind: StoreUnderTest) async throws {
        try await kind.withStore { store in
            var other = push(2)
            other.deviceToken = "another device token"
            try await store.enqueue([push(1), other])
            let due = try await store.duePushes(route: "", at: start, limit: 9)
            #expect(due.map(\.provenAt) == [nil, nil] && due.map(\.suspicion) == [nil, nil])
            let (first, second) = (start.advanced(by: .seconds(1)), start.advanced(by: .seconds(2)))
            func change(_ change: OutboxUpdate.TokenChange, at now: Timestamp) async throws -> [QueuedPush] {
                var update = OutboxUpdate()
                update.tokens = [change]
                _ = try await store.update(update, at: now)
                return try await store.duePushes(route: "", at: start, limit: 9)
            }
            #expect(try await change(.deliveredToken(due[0].targetDigest), at: first).map(\.provenAt) == [first, nil])
            let again = try await change(.deliveredToken(due[0].targetDigest), at: second)
            #expect(again.map(\.tokenDeliveries) == [Deliveries(first: first, last: second), nil])
            let suspicion = Suspicion(
                since: first, refusedAt: second, refusalCount: 3, countedCount: 2, firstCountedAt: second, isProven: false)
            let suspected = try await change(.suspect(due[1].targetDigest, suspicion, route: ""), at: first)
            #expect(suspected.map(\.suspicion) == [nil, suspicion])
            #expect(try await change(.clearSuspicion(due[1].targetDigest), at: second).map(\.suspicion) == [nil, nil])
        }
    }

    @Test(arguments: StoreUnderTest.all, PushOutcome.allCases)
    func `a finished push is never due again and keeps its outcome`(kind: StoreUnderTest, outcome: PushOutcome) async throws {
        try await kind.withStore { store in
            try await store.enqueue([push()])
            try await store.change([1], to: .finish(outcome))
            try await store.change([1], to: .finish(outcome == .sent ? .refused : .sent), at: start.advanced(by: .seconds(1)))
            try await store.change([1], to: .retry(at: start, isUnknown: true))
            try await store.change([1], to: .release(.queued))
            #expect(try await store.mark([1], until: start).isEmpty)
            #expect(try await store.duePushes(route: "", at: start.advanced(by: .seconds(9)), limit: 9) == [])
            let facts = try await store.auditFacts()
            #expect(facts.rowCounts == [outcome.milestone: 1] && facts.leakyRowCount == 0)
        }
    }

    @Test(arguments: StoreUnderTest.all)
    func `a discarded push is finished from the start, and its deduplication key is kept`(kind: StoreUnderTest) async throws {
        try await kind.withStore { store in
            try await store.enqueue([push()], isDiscarded: true)
            #expect(
                try await store.state { $0.deduplicationKeys = [push().deduplicationKey] }.recentDeduplicationKeys == [
                    push().deduplicationKey
                ])
            #expect(try await store.duePushes(route: "", at: start, limit: 9) == [])
            let facts = try await store.auditFacts()
            #expect(facts.rowCounts == [.discarded: 1] && facts.leakyRowCount == 0)
        }
    }

    @Test(arguments: StoreUnderTest.all)
    func `a push from the future, which a wrong clock has left, repeats nothing`(kind: StoreUnderTest) async throws {
        try await kind.withStore { store in
            try await store.enqueue([push()], at: start.advanced(by: .seconds(365 * 86_400)))
            let key = push().deduplicationKey
            #expect(try await store.state { $0.deduplicationKeys = [key] }.recentDeduplicationKeys == [])
            try await store.enqueue([push()], message: 2)
            #expect(try await store.state { $0.deduplicationKeys = [key] }.recentDeduplicationKeys == [key])
            // The clocks of servers on one database differ.
            let behind = start.advanced(by: .zero - Timestamp.pastTolerance)
            #expect(try await store.state(at: behind) { $0.deduplicationKeys = [key] }.recentDeduplicationKeys == [key])
        }
    }

    @Test(arguments: StoreUnderTest.all)
    func `a deduplication key is found for ten minutes after its push entered the outbox`(kind: StoreUnderTest) async throws {
        try await kind.withStore { store in
            try await store.enqueue([push(1)])
            try await store.change([1], to: .finish(.sent))
            let deduplicationKeys: Set = [push(1).deduplicationKey, push(2).deduplicationKey]
            let end = start.advanced(by: ProtocolLimits.deduplicationLifetime)
            #expect(
                try await store.state(at: end) { $0.deduplicationKeys = deduplicationKeys }.recentDeduplicationKeys == [
                    push(1).deduplicationKey
                ])
            let later = end.advanced(by: .nanoseconds(1))
            #expect(try await store.state(at: later) { $0.deduplicationKeys = deduplicationKeys }.recentDeduplicationKeys == [])
            try await store.enqueue([push(1)], message: 2, at: later)
            #expect(
                try await store.state(at: later) { $0.deduplicationKeys = deduplicationKeys }.recentDeduplicationKeys == [
                    push(1).deduplicationKey
                ])
        }
    }

    @Test(arguments: StoreUnderTest.all)
    func `the open pushes are counted, and the oldest is known`(kind: StoreUnderTest) async throws {
        try await kind.withStore { store in
            #expect(try await store.figures().oldestOpenPush == nil)
            for number in 1...3 { try await store.enqueue([push(number)], at: start.advanced(by: .seconds(number))) }
            try await store.attempt([1], until: start.advanced(by: .seconds(99)))
            #expect(try await store.figures().oldestOpenPush == start.advanced(by: .seconds(1)))
            try await store.change([1], to: .finish(.expired))
            #expect(try await store.figures().oldestOpenPush == start.advanced(by: .seconds(2)))
            #expect(try await store.queuedPushCount() == 2)
        }
    }

    @Test(arguments: StoreUnderTest.all)
    func `content that exceeds any payload is not stored`(kind: StoreUnderTest) async throws {
        try await kind.withStore { store in
            var long = push()
            long.chatID = [UInt8](repeating: 1, count: 2_049)
            long.message = [UInt8](repeating: 1, count: 1 << 20)
            var longest = push(2)
            longest.chatID = [UInt8](repeating: 1, count: 2_048)
            longest.message = longest.chatID
            try await store.enqueue([long, longest])
            let due = try await store.duePushes(route: "", at: start, limit: 9)
            #expect(due.map(\.push.chatID) == [[], longest.chatID] && due.map(\.push.message) == [[], longest.message])
        }
    }

    @Test(arguments: StoreUnderTest.all)
    func `the words of Apple and Google are those of the newest attempt that failed, and of no push that was sent`(
        kind: StoreUnderTest
    ) async throws {
        try await kind.withStore { store in
            try await store.enqueue((1...4).map { push($0) })
            func change(_ id: Int64, _ change: OutboxUpdate.PushChange, _ reason: PushReason?, words: String?) async throws {
                var update = OutboxUpdate()
                update.pushes = [.init(id: id, change, reason: reason, words: words)]
                _ = try await store.update(update, at: start)
            }
            func words(_ number: Int) async throws -> String? {
                let progress = try await store.progress(ofPush: push(number).deduplicationKey)?.words
                #expect(try await store.tracePushes(to: push(number).target).map(\.words) == [progress])
                return progress
            }
            for id: Int64 in 1...4 { try await change(id, .retry(at: start, isUnknown: false), .quotaExceeded, words: "Quota of x \(id)") }
            // Another one replaces them; a release and an expiry keep them.
            try await change(1, .retry(at: start, isUnknown: true), .noResponse, words: nil)
            try await change(2, .release(.queued, until: start), .suspectedToken, words: nil)
            #expect(try await store.progress(ofPush: push(2).deduplicationKey)?.reason == PushReason.suspectedToken.rawValue)
            try await change(3, .finish(.sent), nil, words: nil)
            #expect(try await [words(1), words(2), words(3), words(4)] == [nil, "Quota of x 2", nil, "Quota of x 4"])
            #expect(try await store.expirePushes(route: "", acceptedBefore: start.advanced(by: .seconds(1)), limit: 9, at: start) == 3)
            try await store.enqueue([push(5)])
            try await change(5, .finish(.deadToken), .apnsUnregistered, words: "Unregistered")
            #expect(try await [words(2), words(4), words(5)] == ["Quota of x 2", "Quota of x 4", "Unregistered"])
        }
    }

    @Test(arguments: StoreUnderTest.all)
    func `a push keeps its refusals and its ciphertext`(kind: StoreUnderTest) async throws {
        try await kind.withStore { store in
            try await store.enqueue([push()])
            var update = OutboxUpdate()
            let refusals = PushRefusals(refusedAt: start, countedCount: 2, shortening: .next)
            update.pushes = [.init(id: 1, .retry(at: start, isUnknown: false), reason: .payloadTooLarge, refusals: refusals)]
            _ = try await store.update(update, at: start)
            try await store.change([1], to: .retry(at: start, isUnknown: false))
            let due = try await store.duePushes(route: "", at: start, limit: 1)
            #expect(due.map(\.refusals) == [refusals] && due.map(\.push.message) == [push().message])
        }
    }

    @Test(arguments: StoreUnderTest.all)
    func `the devices with waiting pushes are read in portions, each once`(kind: StoreUnderTest) async throws {
        try await kind.withStore { store in
            var pushes = (1...6).map { push($0) }
            for index in pushes.indices { pushes[index].deviceToken = DeviceToken("device \(index / 2)") }
            try await store.enqueue(pushes)
            let all = try await store.waitingDevices(route: "").map(\.device)
            #expect(all.count == 3 && Set(all).count == 3)
            let trust = PushTrust.unknownBundleID
            let first = try await store.waitingDevices(route: "", trust: trust, after: nil, limit: 2)
            let rest = try await store.waitingDevices(route: "", trust: trust, after: first.last, limit: 2)
            #expect(first + rest == all)
            #expect(try await store.waitingDevices(route: "other", trust: trust, after: nil, limit: 9) == [])
            #expect(try await store.waitingDevices(route: "", trust: .proven, after: nil, limit: 9) == [])
        }
    }

    @Test(arguments: StoreUnderTest.all)
    func `the waiting pushes of a device that is given up end, and those of others stay`(kind: StoreUnderTest) async throws {
        try await kind.withStore { store in
            var pushes = (1...4).map { push($0) }
            for index in 1..<3 { pushes[index].deviceToken = pushes[0].deviceToken }
            pushes[3].deviceToken = "another device"
            try await store.enqueue(pushes)
            let due = try await store.duePushes(route: "", at: start, limit: 9)
            var update = OutboxUpdate()
            update.tokens = [.expirePushes(to: due[0].device, route: "", reason: .badDeviceToken)]
            _ = try await store.update(update, at: start)
            #expect(try await store.duePushes(route: "", at: start, limit: 9).map(\.id) == [4])
            let facts = try await store.auditFacts()
            #expect(facts.rowCounts == [.expired: 3] && facts.openCount == 1 && Audit(facts).balances)
        }
    }

    @Test(arguments: StoreUnderTest.all)
    func `the devices that got a push lately are known after a restart`(kind: StoreUnderTest) async throws {
        try await kind.withStore { store in
            var pushes = (1...4).map { push($0) }
            for index in pushes.indices { pushes[index].deviceToken = "device \(index)" }
            try await store.enqueue(pushes)
            let times = (1...4).map { start.advanced(by: .seconds($0)) }
            for number in 1...3 { try await store.change([Int64(number)], to: .finish(.sent), at: times[number - 1]) }
            try await store.change([4], to: .finish(.refused), at: times[3])
            var update = OutboxUpdate()
            update.tokens = [.suspect(pushes[2].targetDigest, Suspicion(since: start, refusedAt: start), route: "")]
            _ = try await store.update(update, at: start)
            let recent = try await store.recentDevices(route: "", since: times[1], limit: 9).sorted { $0.deliveredAt < $1.deliveredAt }
            #expect(recent.map(\.deliveredAt) == [times[1], times[2]] && recent.map(\.isSuspected) == [false, true])
            #expect(Set(recent.map(\.device)).count == 2)
            #expect(try await store.recentDevices(route: "", since: start, limit: 2).count == 2)
            #expect(try await store.recentDevices(route: "other", since: start, limit: 9) == [])
        }
    }

    @Test(arguments: SealableStore.all)
    func `after a restart, a push that a server of 0_3 has leased is uncertain and due at once, and so is one far in the future`(
        kind: SealableStore
    ) async throws {
        let folder = try TemporaryFolder()
        let store = try kind.open(folder, sealingKeys(1))
        try await store.enqueue((1...3).map { push($0) })
        try kind.execute("UPDATE push SET state = 6, next_attempt_at = 9223372036854775807, attempts = 1 WHERE id = 1", folder)
        try await store.change([2], to: .retry(at: start.advanced(by: .seconds(86_400)), isUnknown: false))
        #expect(try await store.takeOverOutbox(routes: [], latest: start.advanced(by: .seconds(600))) == 1)
        let due = try await store.duePushes(route: "", at: start, limit: 9)
        #expect(due.map(\.id) == [2, 3, 1] && due.map(\.state) == [.queued, .queued, .unknown])
        await store.close()
    }

    @Test(arguments: StoreUnderTest.all)
    func `one update makes different changes of many pushes`(kind: StoreUnderTest) async throws {
        try await kind.withStore { store in
            try await store.enqueue((1...8).map { push($0) })
            _ = try await store.mark([3, 5], until: start.advanced(by: .seconds(150)))
            try await store.change([7], to: .finish(.refused))
            let later = start.advanced(by: .seconds(9))
            var update = OutboxUpdate()
            update.pushes = [
                .init(id: 1, .finish(.sent)), .init(id: 2, .retry(at: later, isUnknown: true)), .init(id: 3, .release(.queued)),
                .init(id: 4, .finish(.deadToken), reason: .apnsUnregistered), .init(id: 5, .release(.queued, until: later)),
                .init(id: 7, .finish(.sent)), .init(id: 8, .retry(at: later, isUnknown: false)),
            ]
            _ = try await store.update(update, at: start)
            #expect(try await store.duePushes(route: "", at: start, limit: 9).map(\.id) == [3, 6])
            let due = try await store.duePushes(route: "", at: later, limit: 9)
            let states = Dictionary(uniqueKeysWithValues: due.map { ($0.id, $0.state) })
            #expect(states == [2: .unknown, 3: .queued, 5: .queued, 6: .queued, 8: .queued])
            #expect(try await store.progress(ofPush: push(4).deduplicationKey)?.reason == "Unregistered")
            let facts = try await store.auditFacts()
            #expect(facts.rowCounts == [.sent: 1, .deadToken: 1, .refused: 1] && facts.counts[.uncertain] == 1)
            #expect(facts.openCount == 5 && Audit(facts).balances)
        }
    }

    @Test(arguments: StoreUnderTest.all)
    func `changes of one token apply in their order`(kind: StoreUnderTest) async throws {
        try await kind.withStore { store in
            var update = OutboxUpdate()
            let suspicion = Suspicion(since: start, refusedAt: start)
            update.tokens = [
                .suspect(hash(1), suspicion, route: ""), .clearSuspicion(hash(1)), .clearSuspicion(hash(2)),
                .suspect(hash(2), suspicion, route: ""),
            ]
            _ = try await store.update(update, at: start)
            #expect(try await store.suspicions(against: [hash(1), hash(2)], in: "").byTarget == [hash(2): suspicion])
        }
    }

    @Test(arguments: StoreUnderTest.all)
    func `one update records the deliveries to several registrations, except to those of another version`(
        kind: StoreUnderTest
    ) async throws {
        try await kind.withStore { store in
            var update = OutboxUpdate()
            for number in 1...3 {
                let row = try await store.register(registration(installation(number)))
                update.tokens.append(.delivered(TargetRegistration(row: row, version: number == 2 ? 7 : 1)))
                var push = push(number)
                push.apnTopic = registration().content.apnTopic
                try await store.enqueue([push])
            }
            _ = try await store.update(update, at: start)
            let due = try await store.duePushes(route: "", at: start, limit: 9)
            #expect(Set(due.filter { $0.provenAt == start }.map(\.id)) == [1, 3] && due.count == 3)
        }
    }

    @Test(arguments: StoreUnderTest.all)
    func `each route has its own queue, and changed routes take over the open pushes`(kind: StoreUnderTest) async throws {
        try await kind.withStore { store in
            let android = RouteAssignment(tokenType: .firebase, apnTopic: "", route: "android")
            let ios = RouteAssignment(tokenType: .apn, apnTopic: "", route: "ios")
            let app = RouteAssignment(tokenType: .apn, apnTopic: "topic", route: "app")
            _ = try await store.takeOverOutbox(routes: [android, ios], latest: start)
            var other = push(2)
            other.apnTopic = "other"
            var firebase = push(3)
            firebase.tokenType = .firebase
            try await store.enqueue([push(1), other, firebase])
            #expect(try await store.queuedPushCounts() == ["ios": 2, "android": 1])
            _ = try await store.takeOverOutbox(routes: [android, ios, app], latest: start)
            #expect(try await store.queuedPushCounts() == ["app": 1, "ios": 1, "android": 1])
            #expect(try await store.duePushes(route: "app", at: start, limit: 9).map(\.id) == [1])
            #expect(try await store.nextAttempt(route: "app").map { $0 < start } == true)
            #expect(try await store.nextAttempt(route: "none") == nil)
        }
    }

    @Test(arguments: StoreUnderTest.all)
    func `only old pushes of the route expire, a limited number at a time`(kind: StoreUnderTest) async throws {
        try await kind.withStore { store in
            let android = RouteAssignment(tokenType: .firebase, apnTopic: "", route: "android")
            _ = try await store.takeOverOutbox(routes: [android], latest: start)
            var other = push(9)
            other.tokenType = .firebase
            try await store.enqueue([other, other, other])
            for number in 1...5 { try await store.enqueue([push(number)], at: start.advanced(by: .seconds(number))) }
            let oldest = start.advanced(by: .seconds(4))
            #expect(try await store.expirePushes(route: "other", acceptedBefore: oldest, limit: 9, at: oldest) == 0)
            #expect(try await store.expirePushes(route: "", acceptedBefore: oldest, limit: 1, at: oldest) == 1)
            #expect(try await store.expirePushes(route: "", acceptedBefore: oldest, limit: 9, at: oldest) == 2)
            #expect(try await store.duePushes(route: "", at: start, limit: 9).map(\.id) == [7, 8])
        }
    }
}
