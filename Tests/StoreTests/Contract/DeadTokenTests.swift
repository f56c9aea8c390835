import Bytes
import Envelope
import PushProtocol
import StatusCrypto
import Store
import TestSupport
import Testing
import Wire

@Suite(.safetyNet)
struct DeadTokenTests {
    private let later = start.advanced(by: .seconds(1))

    @Test(arguments: StoreUnderTest.all)
    func `a dead token removes every registration that had it before the attempt, and keeps their versions`(
        kind: StoreUnderTest
    ) async throws {
        try await kind.withStore { store in
            let attempt = start.advanced(by: .seconds(10))
            func registration(_ number: Int, token: DeviceToken) -> Registration {
                var registration = StoreTests.registration(installation(number, key: number), version: UInt64(number))
                registration.content.deviceToken = token
                return registration
            }
            let token: DeviceToken = "0123456789abcdef-dead"
            try await store.register(registration(1, token: token))
            try await store.register(registration(2, token: token))
            try await store.register(registration(3, token: "0123456789abcdef-alive"))
            try await store.register(registration(4, token: token), at: attempt)
            #expect(try await store.unregister(token: token, type: .firebase, attemptedAt: attempt, at: attempt) == [])
            let gone = try await store.unregister(token: token, attemptedAt: attempt, at: attempt)
            #expect(Set(gone) == Set([1, 2].map { ChangedRegistration(registration: $0, topics: topics) }))
            for number in 1...4 {
                let stored = try await store.version(of: installation(number, key: number))
                #expect(stored?.isRegistered == (number > 2))
                #expect(stored?.version == UInt64(number))
            }
        }
    }

    @Test(arguments: StoreUnderTest.all)
    func `a token of Apple's is the same device in either case of its letters, and Google's is not`(kind: StoreUnderTest) async throws {
        for type in [TokenType.apn, .firebase] {
            try await kind.withStore { store in
                for (number, token) in ["0123456789abcdef0a", "0123456789ABCDEF0A", "0123456789abCDef0a"].enumerated() {
                    var registration = registration(installation(number, key: number))
                    registration.content.deviceToken = DeviceToken(token)
                    registration.content.tokenType = type
                    try await store.register(registration)
                }
                let gone = try await store.unregister(token: "0123456789ABCDEF0A", type: type, attemptedAt: later, at: later)
                #expect(gone.count == (type == .apn ? 3 : 1))
            }
        }
        var (lower, upper) = (push(), push())
        lower.deviceToken = "0123456789abcdef0a"
        upper.deviceToken = "0123456789ABCDEF0A"
        func digest(_ push: AcceptedPush) -> Digest32 { QueuedPush(id: 1, request: 1, push: push, acceptedAt: start).targetDigest }
        #expect(digest(lower) == digest(upper))
        (lower.tokenType, upper.tokenType) = (.firebase, .firebase)
        #expect(digest(lower) != digest(upper))
    }

    @Test(arguments: StoreUnderTest.all)
    func `a dead token keeps registrations with another bundle id, except for Android`(kind: StoreUnderTest) async throws {
        for type in [TokenType.apn, .firebase] {
            try await kind.withStore { store in
                var victim = registration()
                victim.content.tokenType = type
                try await store.register(victim)
                let gone = try await store.unregister(token: "device token 1", type: type, apnTopic: "other", attemptedAt: later, at: later)
                #expect(gone.isEmpty == (type == .apn))
            }
        }
    }

    @Test(arguments: StoreUnderTest.all)
    func `the registration of the attempt is removed only if it has the same version, whatever the clock says`(
        kind: StoreUnderTest
    ) async throws {
        try await kind.withStore { store in
            let row = try await store.register(registration())
            // The owner registered again after the attempt, by a clock that was set back.
            var renewed = registration(version: 2)
            renewed.content.deviceToken = "device token 1"
            try await store.register(renewed, at: start.advanced(by: .seconds(-60)))
            let tried = TargetRegistration(row: row, version: 1)
            #expect(try await store.unregister(token: "device token 1", tried: tried, attemptedAt: later, at: later) == [])
            let again = TargetRegistration(row: row, version: 2)
            let gone = try await store.unregister(
                token: "device token 1", tried: again, attemptedAt: start.advanced(by: .seconds(-90)), at: later)
            #expect(gone.map(\.registration) == [row])
        }
    }

    @Test(arguments: StoreUnderTest.all)
    func `a registration keeps its first and last delivery while its token and bundle id stay the same`(kind: StoreUnderTest) async throws {
        try await kind.withStore { store in
            let (second, third) = (start.advanced(by: .seconds(2)), start.advanced(by: .seconds(3)))
            func deliveries() async throws -> Deliveries? {
                try await store.enqueue([push()])
                let due = try await store.duePushes(route: "", at: later, limit: 99)
                #expect(due.allSatisfy { $0.registration != nil })
                return due.last?.registration?.deliveries
            }
            func delivered(version: UInt64, at time: Timestamp = start) async throws {
                var update = OutboxUpdate()
                update.tokens = [.delivered(TargetRegistration(row: 1, version: version))]
                update.deliveredBundleIDs = [("ios", "topic"), ("ios", "topic")]
                _ = try await store.update(update, at: time)
            }
            func register(_ version: UInt64, token: DeviceToken = "token", topic: String = "topic") async throws {
                var registration = registration(version: version)
                registration.content.deviceToken = token
                registration.content.apnTopic = topic
                try await store.register(registration)
            }
            try await register(1)
            #expect(try await deliveries() == nil)
            try await delivered(version: 2)
            #expect(try await deliveries() == nil)
            try await delivered(version: 1)
            #expect(try await deliveries() == Deliveries(first: start, last: start))
            #expect(try await store.deliveredBundleIDs() == ["ios": ["topic"]])
            try await register(2)
            #expect(try await deliveries() == Deliveries(first: start, last: start))
            try await delivered(version: 2, at: second)
            #expect(try await deliveries() == Deliveries(first: start, last: second))
            try await register(3, token: "another")
            #expect(try await deliveries() == nil)
            try await delivered(version: 3, at: third)
            #expect(try await deliveries() == Deliveries(first: third, last: third))
        }
    }

    @Test(arguments: StoreUnderTest.all, 0..<3)
    func `a registration that was removed with its token is restored completely`(kind: StoreUnderTest, flag: Int) async throws {
        // One flag at a time, so that none stands for another.
        var original = registration()
        original.content.enabled = flag == 0
        original.content.allowFromContactsOnly = flag == 1
        original.content.blockMentions = flag == 2
        try await kind.withStore { [original] store in
            let row = try await store.register(original)
            let changed = ChangedRegistration(registration: row, topics: topics)
            // The second copy contains the restored rows.
            for number in 1...2 {
                let now = later.advanced(by: .seconds(number))
                #expect(try await store.unregister(token: "device token 1", attemptedAt: now, at: now) == [changed])
                #expect(try await store.registrationCount() == 0)
                let dead = try await store.deadRegistrations(limit: 9)
                #expect(
                    dead == [
                        DeadRegistration(
                            id: Int64(number), diedAt: now, reason: "Unregistered", route: "ios", installation: installation(), version: 1)
                    ])
                #expect(try await store.restoreDeadRegistrations([dead[0].id, 99], at: later) == [changed])
                #expect(try await store.deadRegistrations(limit: 9) == [])
                #expect(try await store.target()?.content == PushTarget(original.content))
                #expect(try await store.queryable()?.content == [QueryableRegistration(original.content)])
            }
            #expect(try await store.version()?.plaintextDigest == original.plaintextDigest)
            #expect(try await store.liveTopics(of: [row]) == [changed])
        }
    }

    @Test(arguments: StoreUnderTest.all)
    func `a restore skips owners who have registered or unregistered since`(kind: StoreUnderTest) async throws {
        try await kind.withStore { store in
            try await store.register(registration(installation(1, key: 1)))
            try await store.register(registration(installation(2, key: 2)))
            #expect(try await store.unregister(token: "device token 1", attemptedAt: later, at: later).count == 2)
            try await store.register(registration(installation(1, key: 1), version: 2), at: later)
            try await store.unregister(installation(2, key: 2), version: 2, at: later)
            #expect(try await store.restoreDeadRegistrations(nil, at: later) == [])
            let versions = [
                try await store.version(of: installation(1, key: 1)), try await store.version(of: installation(2, key: 2)),
            ]
            #expect(versions.map { $0?.version } == [2, 2])
            #expect(versions.map { $0?.isRegistered } == [true, false])
        }
    }

    @Test(arguments: StoreUnderTest.all)
    func `a task that is cancelled after an attempt can still read suspicions and write the outcome`(kind: StoreUnderTest) async throws {
        try await kind.withStore { store in
            try await store.enqueue([push()])
            let settling = Task {
                unsafe withUnsafeCurrentTask { unsafe $0?.cancel() }
                var update = OutboxUpdate()
                update.pushes = [.init(id: 1, .finish(.sent))]
                let suspicions = try await store.suspicions(against: [hash(1)], in: "")
                _ = try await store.update(update, at: start)
                return suspicions
            }
            #expect(try await settling.value == Suspicions())
            #expect(try await store.queuedPushCount() == 0)
        }
    }

    @Test(arguments: StoreUnderTest.all)
    func `a suspicion is kept as it is until it is cleared, and suspicions and copies are pruned`(kind: StoreUnderTest) async throws {
        try await kind.withStore { store in
            try await store.register(registration())
            _ = try await store.unregister(token: "device token 1", attemptedAt: later, at: later)
            let tokens: [Digest32] = [hash(1), hash(2), hash(3)]
            func change(_ changes: [OutboxUpdate.TokenChange], at now: Timestamp) async throws -> Suspicions {
                var update = OutboxUpdate()
                update.tokens = changes
                #expect(try await store.update(update, at: now).unregistered == [])
                return try await store.suspicions(against: tokens, in: "a")
            }
            #expect(try await store.suspicions(against: tokens, in: "a") == Suspicions())
            let first = Suspicion(since: start, refusedAt: start)
            #expect(
                try await change([.suspect(hash(1), first, route: "a")], at: start) == Suspicions(byTarget: [hash(1): first], oldest: start)
            )
            let grown = Suspicion(since: start, refusedAt: later, refusalCount: 4, countedCount: 2, firstCountedAt: later)
            let stranger = Suspicion(since: start.advanced(by: .seconds(-9)), refusedAt: later, isProven: false)
            let other = Suspicion(since: start.advanced(by: .seconds(-8)), refusedAt: later)
            let all: [Digest32: Suspicion] = [hash(1): grown, hash(2): stranger, hash(3): other]
            let changes = [(1, grown, "a"), (2, stranger, "a"), (3, other, "b")].map { number, suspicion, route in
                OutboxUpdate.TokenChange.suspect(hash(number), suspicion, route: route)
            }
            // The oldest one is that of a device that worked, on the route.
            #expect(try await change(changes, at: later) == Suspicions(byTarget: all, oldest: start))
            #expect(
                try await change([.clearSuspicion(hash(1))], at: later)
                    == Suspicions(byTarget: [hash(2): stranger, hash(3): other]))

            _ = try await store.prune(at: later.advanced(by: Suspicion.lifetime))
            #expect(try await store.suspicions(against: tokens, in: "b").oldest == other.since)
            _ = try await store.prune(at: later.advanced(by: Suspicion.lifetime + .seconds(1)))
            #expect(try await store.suspicions(against: tokens, in: "b") == Suspicions())
            _ = try await store.prune(at: later.advanced(by: DeadRegistration.lifetime))
            #expect(try await store.deadRegistrations(limit: 9).count == 1)
            _ = try await store.prune(at: later.advanced(by: DeadRegistration.lifetime + .seconds(1)))
            #expect(try await store.deadRegistrations(limit: 9) == [])
        }
    }
}
