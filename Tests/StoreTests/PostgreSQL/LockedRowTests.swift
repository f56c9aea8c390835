import Bytes
import Envelope
import PushProtocol
import StatusCrypto
import Store
import Synchronization
import TestSupport
import Testing

@testable import PostgreSQLStore

/// Another session of the database holds a row, as a person does who left a transaction open.
@Suite(.safetyNet) struct LockedRowTests {
    private func register(_ registrations: [Registration], in store: PostgreSQLStore) async -> [Result<Void, any Error>] {
        await store.commit(registrations, at: start) { registrations in
            var lookups = Lookups()
            lookups.registrations = Set(registrations.map(\.installation))
            return lookups
        } deciding: { registration, batch in
            batch.register(registration, topics: topics)
        }.outcomes
    }

    /// Locks rows of a database until the body returns.
    private func withLock(on rows: String, in folder: TemporaryFolder, _ body: () async throws -> Void) async throws {
        var parameters = try folder.newPostgreSQL()
        parameters["application_name"] = "forgotten psql"
        let other = try Connection(parameters)
        _ = try other.run([Command("BEGIN")])
        _ = try other.run([Command("SELECT true FROM \(rows) FOR UPDATE")])
        try await body()
        _ = try other.run([Command("ROLLBACK")])
    }

    /// Passes a store with eight devices, and a push for each.
    private func withPushes(_ body: (PostgreSQLStore, TemporaryFolder, [QueuedPush]) async throws -> Void) async throws {
        let folder = try TemporaryFolder()
        let store = try folder.openPostgreSQL()
        let phones = (1...8).map { installation(1, key: $0) }
        for outcome in await register(phones.map { registration($0) }, in: store) { try outcome.get() }
        try await store.apply(at: start) { batch in
            for (number, phone) in phones.enumerated() {
                var push = push(number)
                (push.target, push.apnTopic) = (phone, "im.status.ethereum")
                batch.enqueue(push, message: 1)
            }
        }
        let pushes = try await store.duePushes(route: "", at: start, limit: 100)
        #expect(pushes.count == 8)
        try await body(store, folder, pushes)
        await store.close()
    }

    private static let registrationRow = "registration WHERE id = 3"

    @Test func `a locked row stops the messages about it, and no others`() async throws {
        try await withPushes { store, folder, _ in
            let newer = (1...8).map { registration(installation(1, key: $0), version: 2) }
            try await withLock(on: Self.registrationRow, in: folder) {
                let outcomes = await register(newer, in: store)
                for (number, outcome) in outcomes.enumerated() {
                    guard number == 2 else {
                        #expect(throws: Never.self) { try outcome.get() }
                        continue
                    }
                    guard case .failure(let error) = outcome, case .rowLocked? = error as? StoreError else {
                        Issue.record("not locked: \(outcome)")
                        continue
                    }
                }
            }
            for outcome in await register([newer[2]], in: store) { try outcome.get() }
        }
    }

    private static let ownerRow = "owner WHERE key_hash = (SELECT key_hash FROM registration WHERE id = 3)"

    @Test func `the row of an owner that is held stops the messages that name it, and no others`() async throws {
        try await withPushes { store, folder, _ in
            let phones = (1...8).map { installation(1, key: $0) }
            try await withLock(on: Self.ownerRow, in: folder) {
                // The second time the store knows the row, and waits for no lock.
                for version: UInt64 in 2...3 {
                    let newer = phones.map { registration($0, version: version) }
                    let outcomes = await register(newer, in: store)
                    for (number, outcome) in outcomes.enumerated() {
                        guard number == 2 else {
                            #expect(throws: Never.self) { try outcome.get() }
                            continue
                        }
                        guard case .failure(let error) = outcome, case .ownersLocked(let owners, _)? = error as? StoreError else {
                            Issue.record("not held: \(outcome)")
                            continue
                        }
                        #expect(owners == [hash(3)])
                    }
                }
                let held = store.knownHeldOwners.withLock(\.self)
                #expect(held == [hash(3)])
                // A stranger's requests name the owner beside others.
                let committed = await store.commit(Array(1...200), at: start) { numbers in
                    var lookups = Lookups()
                    for number in numbers { lookups.targets[phones[number % 8], default: []] = [] }
                    return lookups
                } deciding: { _, _ in
                }
                #expect(committed.outcomes.count { (try? $0.get()) == nil } == 25)
            }
            for outcome in await register([registration(phones[2], version: 3)], in: store) { try outcome.get() }
            let held = store.knownHeldOwners.withLock(\.self)
            #expect(held.isEmpty)
        }
    }

    @Test func `an error names the session that holds a row`() async throws {
        try await withPushes { store, folder, _ in
            try await withLock(on: Self.registrationRow, in: folder) {
                var holder: String?
                // On a busy machine, the first look may come after the transaction that waited.
                while holder == nil {
                    let outcomes = await register([registration(installation(1, key: 3), version: 2)], in: store)
                    guard case .failure(let error) = outcomes[0], case .rowLocked(let found)? = error as? StoreError else {
                        Issue.record("not locked: \(outcomes)")
                        return
                    }
                    holder = found
                }
                #expect(holder?.hasPrefix("forgotten psql of postgres (process ") == true, "\(holder ?? "")")
            }
        }
    }

    @Test func `outcomes of pushes are recorded although the row of a device is locked`() async throws {
        try await withPushes { store, folder, pushes in
            try await withLock(on: Self.registrationRow, in: folder) {
                var update = OutboxUpdate()
                update.pushes = pushes.map { .init(id: $0.id, .finish(.sent)) }
                update.tokens = pushes.compactMap { $0.registration.map { .delivered($0) } }
                _ = try await store.update(update, at: start)
                #expect(try await store.queuedPushCount() == 0)
                let proven = try await store.read { try $0.count("SELECT count(*) FROM registration WHERE delivered_at IS NOT NULL") }
                #expect(proven == 7)
            }
        }
    }

    @Test(arguments: [false, true])
    func `a push whose row is locked is named, and the others are recorded`(skipsLockedRows: Bool) async throws {
        try await withPushes { store, folder, pushes in
            var update = OutboxUpdate()
            update.skipsLockedRows = skipsLockedRows
            // Its first delivery frees the waiting pushes of the bundle id.
            update.deliveredBundleIDs = [("", "im.status.ethereum")]
            update.pushes = pushes.map { .init(id: $0.id, .finish(.sent)) }
            let all = update
            try await withLock(on: "push WHERE id = \(pushes[2].id)", in: folder) {
                let updated = try await store.update(all, at: start)
                #expect(updated.locked == [pushes[2].id])
                #expect(try await store.queuedPushCount() == 1)
            }
            #expect(try await store.update(all, at: start).locked == [])
            #expect(try await store.queuedPushCount() == 0)
        }
    }

    @Test func `a damaged push whose row is locked is set aside later, and others are found`() async throws {
        try await withPushes { store, folder, pushes in
            let damaged = pushes[2].id
            try await store.pool.perform(.writing) { $0.add("UPDATE push SET secrets = '\\x01ff' WHERE id = \(damaged)") }
            func find() async throws -> [FoundPush] {
                try await store.pushes(pushes.map { .row($0.id) }, route: "", acceptedSince: start, at: start)
            }
            try await withLock(on: "push WHERE id = \(damaged)", in: folder) {
                for (index, found) in try await find().enumerated() {
                    switch found {
                    case .push where index != 2, .locked where index == 2: break
                    default: Issue.record("\(index): \(found)")
                    }
                }
            }
            guard case .nothing = try await find()[2] else { throw StoreError.damaged }
            #expect(try await store.auditFacts().setAside == ["push \(damaged)"])
        }
    }

    @Test func `a server takes over the messages of another except a locked one`() async throws {
        let folder = try TemporaryFolder()
        let (one, two) = (try folder.openPostgreSQL(), try folder.openPostgreSQL(serverName: "two"))
        for number in 1...3 { _ = try await one.record(number) }
        try await two.pool.perform(.writing) { $0.add("UPDATE server SET is_fenced = true WHERE name = 'one'") }
        try await withLock(on: "message WHERE id = 2", in: folder) {
            let taken = try await two.takePart().undecided
            #expect(taken == [1, 3])
        }
        #expect(try await two.takePart().undecided == [2])
        await one.close()
        await two.close()
    }

    @Test func `the locked row of another server keeps no server from renewing its lease`() async throws {
        let folder = try TemporaryFolder()
        let clock = ManualClock()
        let (one, two) = (try folder.openPostgreSQL(clock: clock), try folder.openPostgreSQL(serverName: "two", clock: clock))
        // Once its lease has lasted for its own length, a server fences others.
        for _ in 0..<3 {
            _ = try await two.takePart()
            clock.advance(by: ClusterLimits.lease / 2)
        }
        _ = try await two.takePart()
        try await two.pool.perform(.writing) { $0.add("UPDATE server SET lease_ends = now() WHERE name = 'one'") }
        try await withLock(on: "server WHERE name = 'one'", in: folder) { _ = try await two.takePart() }
        #expect(two.holdsLease(as: two.number, for: ClusterLimits.lease - .milliseconds(1)))
        _ = try await two.takePart()
        #expect(try await two.members().map(\.state) == [.fenced, .alive])
        await one.close()
        await two.close()
    }

    @Test func `rows that another session holds are not pruned, and the others are`() async throws {
        let folder = try TemporaryFolder()
        let store = try folder.openPostgreSQL()
        var update = OutboxUpdate()
        update.tokens = (1...3).map { .suspect(hash($0), Suspicion(since: start, refusedAt: start), route: "ios") }
        _ = try await store.update(update, at: start)
        let late = start.advanced(by: .seconds(365 * 86_400))
        try await withLock(on: "(SELECT * FROM suspect_token LIMIT 1) AS first, suspect_token WHERE suspect_token = first", in: folder) {
            let pruned = try await store.prune(at: late)
            #expect(pruned.deadTokenCount == 2)
        }
        #expect(try await store.prune(at: late).deadTokenCount == 1)
        await store.close()
    }

    @Test func `a message and a push that another session holds are not pruned, and the others are`() async throws {
        let folder = try TemporaryFolder()
        let store = try folder.openPostgreSQL()
        for number in 1...4 { _ = try await store.record(number) }
        try await store.decide([1, 2, 3], as: .silent)
        try await store.enqueue((1...4).map { push($0) })
        try await store.change([1, 2, 3], to: .finish(.sent))
        let late = start.advanced(by: .seconds(365 * 86_400))
        try await withLock(on: "message, push WHERE message.id = 2 AND push.id = 2", in: folder) {
            let pruned = try await store.prune(at: late)
            #expect(pruned == Pruned(messageCount: 2, pushCount: 2))
        }
        #expect(try await store.prune(at: late) == Pruned(messageCount: 1, pushCount: 1))
        await store.close()
    }
}
