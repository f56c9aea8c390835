import Bytes
import Envelope
import PushProtocol
import StatusCrypto
import Store
import TestSupport
import Testing
import Wire

/// Conditions of SQL about one of several values, with a push of each value. A new value of an enumeration is a push more.
@Suite(.fewAtATime, .safetyNet) struct CaseTests {
    /// What a push can be in, of which each statement finds some.
    enum Value: Hashable, CaseIterable {
        case open(OpenPushState)
        case finished(PushOutcome)
        case trust(PushTrust)
        case next(Next)

        /// When it is attempted next.
        enum Next: CaseIterable {
            case atOnce, past, future, held
            /// At once, as a server of 0.3 has written it.
            case turn
        }

        static let allCases =
            OpenPushState.allCases.map(open) + PushOutcome.allCases.map(finished) + PushTrust.allCases.map(trust) + Next.allCases.map(next)

        /// What the columns of such a push say, and those of others do not.
        var sql: String {
            switch self {
            case .open(let state): "state = \(state.rawValue)"
            case .finished(let outcome): "state = \(outcome.rawValue), finished_at = \(start.nanoseconds)"
            case .trust(let trust): "trust = \(trust.rawValue)"
            case .next(.atOnce): "next_attempt_at = 0"
            case .next(.turn): "next_attempt_at = 5"
            case .next(.past): "next_attempt_at = \(start.nanoseconds - 1)"
            case .next(.future): "next_attempt_at = \(CaseTests.later.nanoseconds)"
            case .next(.held): "next_attempt_at = \(Int64.max)"
            }
        }

        static let openCount = allCases.count(where: \.isOpen)

        var isOpen: Bool { if case .finished = self { false } else { true } }
        var isHeld: Bool { self == .next(.held) }
        var isDue: Bool { isOpen && !isHeld && self != .next(.future) }
        var trust: PushTrust { if case .trust(let trust) = self { trust } else { .unknownBundleID } }
        var isCall: Bool { trust == .call }
    }

    /// A statement or several with the same condition.
    struct Statement: CustomTestStringConvertible, Sendable {
        let testDescription: String
        /// Whether it finds a push with this value.
        let finds: @Sendable (Value) -> Bool
        /// Returns the pushes that it finds or changes.
        let run: @Sendable (World) async throws -> Set<Int64>

        init(
            _ description: String, finds: @escaping @Sendable (Value) -> Bool, run: @escaping @Sendable (World) async throws -> Set<Int64>
        ) {
            (testDescription, self.finds, self.run) = (description, finds, run)
        }

        /// A statement that changes the pushes that it finds.
        init(
            changing description: String, finds: @escaping @Sendable (Value) -> Bool,
            run: @escaping @Sendable (any StoreUnderTest.Store) async throws -> Void
        ) {
            self.init(description, finds: finds) { world in try await world.changed { try await run(world.store) } }
        }
    }

    static let later = start.advanced(by: .seconds(3_600))
    private static let latest = start.advanced(by: .seconds(86_400))
    private static let key = try? PrivateKey(FixedBytes(repeating: 1)).publicKey
    private static let target = Installation(keyHash: key?.hash ?? Digest64(), installationID: "installation")
    private static let routes: Set = [RouteAssignment(tokenType: .apn, apnTopic: "", route: "ios")]

    /// A store with a push of each value, each to a device of its own, that belongs to the route `ios`, has had no answer to one attempt in
    /// flight, and waits for an hour for the proof of its bundle id.
    struct World: Sendable {
        let store: any StoreUnderTest.Store
        let devices: [DeviceCode: Int64]
        let execute: @Sendable (String) throws -> Void

        /// The rows of the pushes, by their value.
        static let rows = Dictionary(uniqueKeysWithValues: zip(Value.allCases, Int64(1)...))

        /// Returns the pushes that a change concerns.
        func changed(_ change: () async throws -> Void) async throws -> Set<Int64> {
            let before = try await rows()
            try await change()
            let after = try await rows()
            return Set(before.filter { after[$0.key] != $0.value }.keys)
        }

        /// Returns the pushes that the devices may attempt now.
        func due() async throws -> Set<Int64> {
            let choices = devices.keys.map { PushChoice.next(of: $0) }
            let found = try await store.pushes(choices, route: "ios", acceptedSince: start, at: start)
            return Set(found.compactMap { if case .push(let push, _) = $0 { push.id } else { nil } })
        }

        private func rows() async throws -> [Int64: [String]] {
            func rows<Shared: SharedStore>(_ store: Shared) async throws -> [Int64: [String]] {
                try await store.reading { database in
                    let columns = ["state", "next_attempt_at", "finished_at", "refused_at", "trust", "attempts"]
                    var rows: [Int64: [String]] = [:]
                    try database.forEach("SELECT id, route, \(columns.joined(separator: ", ")) FROM push") { row in
                        let (id, route): (Int64, String) = (try row.next(), try row.next())
                        rows[id] = [route] + (try columns.map { "\($0) \(String(describing: try row.next(Int64?.self)))" })
                    }
                    return rows
                }
            }
            let shared: any SharedStore = try #require(store as? any SharedStore)
            return try await rows(shared)
        }
    }

    private func withWorld(_ kind: SealableStore, _ body: (World) async throws -> Void) async throws {
        let folder = try TemporaryFolder()
        let store = try #require(try kind.open(folder, sealingKeys(1)) as? any StoreUnderTest.Store)
        _ = try await store.takeOverOutbox(routes: Self.routes, latest: Self.latest)
        var devices: [DeviceCode: Int64] = [:]
        for (value, id) in World.rows.sorted(by: { $0.value < $1.value }) {
            var push = push(Int(id))
            (push.target, push.deviceToken) = (Self.target, DeviceToken("device \(id)"))
            try await store.enqueue([push])
            for device in try await store.waitingDevices(route: "ios").map(\.device) where devices[device] == nil { devices[device] = id }
            try kind.execute("UPDATE push SET unanswered = 1, attempted_at = 0, \(value.sql) WHERE id = \(id)", folder)
        }
        // The newest row is kept whatever it is.
        try await store.enqueue([push(99)])
        try await body(World(store: store, devices: devices) { try kind.execute($0, folder) })
        await store.close()
    }

    private static func update(
        _ store: any PushStore, _ change: OutboxUpdate.PushChange, refusals: PushRefusals? = nil
    ) async throws {
        var update = OutboxUpdate()
        update.pushes = World.rows.values.sorted().map { .init(id: $0, change, refusals: refusals) }
        _ = try await store.update(update, at: later)
    }

    private static func update(_ store: any PushStore, _ tokens: [OutboxUpdate.TokenChange], bundleIDs: [String] = []) async throws {
        var update = OutboxUpdate()
        update.tokens = tokens
        update.deliveredBundleIDs = bundleIDs.map { (route: "ios", apnTopic: $0) }
        _ = try await store.update(update, at: later)
    }

    private static let changes = [
        Statement(changing: "an outcome", finds: \.isOpen) { try await update($0, .finish(.refused)) },
        Statement(changing: "a retry", finds: \.isOpen) { try await update($0, .retry(at: latest, isUnknown: false)) },
        Statement(changing: "a release and refusals", finds: \.isOpen) {
            try await update($0, .release(.queued, until: latest), refusals: PushRefusals(refusedAt: start))
        },
        Statement(changing: "a mark", finds: { $0.isOpen && !$0.isHeld }) {
            _ = try await $0.mark(World.rows.values.sorted(), until: latest)
        },
        Statement(changing: "a withdrawal", finds: \.isOpen) { try await $0.withdraw(World.rows.values.sorted(), at: later) },
        Statement(changing: "the end of a lifetime", finds: { $0.isOpen && !$0.isHeld }) {
            _ = try await $0.expirePushes(route: "ios", acceptedBefore: later, limit: 99, at: later)
        },
        Statement(changing: "the end of the lifetime of a call", finds: { $0.isCall }) {
            _ = try await $0.expireCalls(route: "ios", acceptedBefore: later, limit: 99, at: later)
        },
        Statement("the end of the lifetime of calls only", finds: { $0.isOpen && $0 != .open(.leased) && $0 != .open(.unknown) }) { world in
            try world.execute("UPDATE push SET trust = \(PushTrust.call.rawValue)")
            return try await world.changed {
                _ = try await world.store.expireCalls(route: "ios", acceptedBefore: later, limit: 99, at: later)
            }
        },
        Statement("the end of devices", finds: { $0.isOpen && !$0.isHeld }) { world in
            try await world.changed {
                try await update(world.store, world.devices.keys.map { .expirePushes(to: $0, route: "ios", reason: .badDeviceToken) })
            }
        },
        Statement(changing: "an unregistration", finds: \.isOpen) { store in
            try await store.register(registration(target))
            try await store.unregister(target, version: 2)
        },
        Statement(changing: "the end of a key", finds: \.isOpen) { _ = try await $0.forget(try #require(key), at: later) },
        Statement("a wait that is shortened, by state", finds: { $0 == .open(.unknown) }) { world in
            try world.execute("UPDATE push SET next_attempt_at = \(later.nanoseconds)")
            return try await world.changed { _ = try await world.store.bringForward(route: "ios", limit: 99, at: start) }
        },
        Statement("a wait that is shortened, by time", finds: { $0 == .next(.future) }) { world in
            try world.execute("UPDATE push SET state = \(OpenPushState.unknown.rawValue) WHERE state = \(OpenPushState.queued.rawValue)")
            return try await world.changed { _ = try await world.store.bringForward(route: "ios", limit: 99, at: start) }
        },
        Statement(changing: "a start", finds: { [.open(.leased), .next(.future), .next(.held)].contains($0) }) {
            _ = try await $0.takeOverOutbox(routes: routes, latest: start)
        },
        Statement(changing: "a start with other routes", finds: \.isOpen) {
            let other = RouteAssignment(tokenType: .apn, apnTopic: "", route: "other")
            _ = try await $0.takeOverOutbox(routes: [other], latest: latest)
        },
        Statement(changing: "the first delivery to a bundle id", finds: { $0.isOpen && $0.trust == .unknownBundleID }) {
            try await update($0, [], bundleIDs: ["topic"])
        },
        Statement(changing: "the first delivery to a registration", finds: { $0.isOpen && ![.proven, .call].contains($0.trust) }) { store in
            let row = try await store.register(registration(target))
            try await update(store, [.delivered(TargetRegistration(row: row, version: 1))])
        },
        Statement(changing: "setting aside", finds: { $0.isOpen && !$0.isHeld }) {
            try await #require($0 as? any SharedStore).setAside(World.rows.values.sorted(), .push)
        },
        Statement(changing: "pruning", finds: { !$0.isOpen }) { _ = try await $0.prune(at: start.advanced(by: .seconds(1_000_000))) },
    ]

    private static let queries =
        [
            Statement("open calls", finds: \.isCall) { world in
                Set(try await world.store.waitingCalls(route: "ios", limit: 99).map(\.row))
            },
            Statement("untried pushes of devices that are due", finds: { $0.isDue && !$0.isCall }) { try await $0.due() },
            Statement("tried pushes of devices that are due", finds: { $0.isDue && !$0.isCall }) { world in
                try world.execute("UPDATE push SET attempts = 1")
                return try await world.due()
            },
            Statement("marked pushes", finds: { $0.isOpen && !$0.isHeld }) { world in
                Set(try await world.store.mark(World.rows.values.sorted(), until: start).keys)
            },
            Statement("devices without an answer", finds: { $0 == .open(.unknown) }) { world in
                Set(try await world.store.uncertainDevices(route: "ios", limit: 99).compactMap { world.devices[$0] })
            },
            Statement("devices that got a push lately", finds: { $0 == .finished(.sent) }) { world in
                Set(try await world.store.recentDevices(route: "ios", since: start, limit: 99).compactMap { world.devices[$0.device] })
            },
        ]
        // The first page, and the next one.
        + PushTrust.allCases.flatMap { trust in
            [nil, DeviceCode()].map { (last: DeviceCode?) in
                Statement(
                    "\(last == nil ? "the first" : "other") devices that wait, trust \(trust)",
                    finds: { $0.isOpen && !$0.isHeld && $0.trust == trust }
                ) { world in
                    let devices = try await world.store.waitingDevices(route: "ios", trust: trust, after: last, limit: 99)
                    return Set(devices.compactMap { world.devices[$0] })
                }
            }
        }

    @Test(arguments: SealableStore.all, changes + queries)
    func `a statement finds the pushes with its values, and no others`(kind: SealableStore, statement: Statement) async throws {
        try await withWorld(kind) { world in
            let found = try await statement.run(world)
            for value in Value.allCases {
                #expect(found.contains(try #require(World.rows[value])) == statement.finds(value), "\(value)")
            }
        }
    }

    @Test(arguments: SealableStore.all, [PushReason.unprovenBundleID, .quotaExceeded])
    func `the first delivery to a bundle id ends the waits for its proof, and no others`(kind: SealableStore, reason: PushReason)
        async throws
    {
        try await withWorld(kind) { world in
            try world.execute(
                """
                UPDATE push SET next_attempt_at = \(Self.later.nanoseconds), reason = '\(reason.rawValue)'
                WHERE finished_at IS NULL AND next_attempt_at < \(NextAttempt.held)
                """)
            try await Self.update(world.store, [], bundleIDs: ["topic"])
            let due = try await world.due()
            for value in Value.allCases {
                let ends = reason == .unprovenBundleID && value.isOpen && !value.isHeld && value.trust == .unknownBundleID
                #expect(due.contains(try #require(World.rows[value])) == ends, "\(value)")
            }
        }
    }

    @Test func `pushes that are taken over from a fenced server change only if 0_3 has leased them or given them a turn`() async throws {
        let kind = try #require(SealableStore.all.first { $0.testDescription == "PostgreSQL" })
        try await withWorld(kind) { world in
            try world.execute("UPDATE server SET is_fenced = true")
            let changed = try await world.changed {
                let taken = try await world.store.cluster?.takePart()
                #expect(taken?.pushCount == Value.openCount + 1)
            }
            for value in Value.allCases {
                #expect(changed.contains(try #require(World.rows[value])) == [.open(.leased), .next(.turn)].contains(value), "\(value)")
            }
        }
    }

    @Test(arguments: SealableStore.all)
    func `a trace has each state, and each sum the pushes with its states`(kind: SealableStore) async throws {
        try await withWorld(kind) { world in
            let states = try await world.store.tracePushes(to: Self.target).map(\.state)
            for (value, state) in zip(Value.allCases, states) {
                let expected: TracedPush.State =
                    switch value {
                    case .open(let state): .open(state)
                    case .finished(let outcome): .finished(outcome, at: start)
                    case .trust, .next: .open(.queued)
                    }
                #expect(state == expected)
            }
            // One more is open.
            let openCount = Value.openCount + 1
            let waiting = try await world.store.waitingPushes(oldest: 99, acceptedSince: start)
            #expect(waiting.oldest.count == openCount && waiting.openCount == openCount)
            #expect(waiting.finishedCounts == Dictionary(uniqueKeysWithValues: PushOutcome.allCases.map { ($0, 1) }))
            #expect(try await world.store.queuedPushCounts() == ["ios": openCount])
            for facts in [try await world.store.auditFacts(), try await world.store.figures().ledger] {
                #expect(facts.openCount == openCount)
            }
            if let cluster = world.store.cluster {
                #expect(try await cluster.members().map(\.openPushCount) == [openCount])
                #expect(try await cluster.endRestoredPushes(acceptedBefore: Self.later, at: Self.later) == openCount)
            }
        }
    }

    @Test(arguments: StoreUnderTest.all, PushOutcome.allCases)
    func `an outcome leaves the words of the newest attempt, and a success none`(
        kind: StoreUnderTest, outcome: PushOutcome
    ) async throws {
        try await kind.withStore { store in
            try await store.enqueue([push()])
            var update = OutboxUpdate()
            update.pushes = [.init(id: 1, .retry(at: start, isUnknown: false), reason: .quotaExceeded, words: "Quota")]
            _ = try await store.update(update, at: start)
            try await store.change([1], to: .finish(outcome))
            let progress = try #require(try await store.progress(ofPush: push().deduplicationKey))
            #expect(progress.outcome == outcome && progress.words == (outcome == .sent ? nil : "Quota"))
        }
    }
}
