import Bytes
import Envelope
import Foundation
import GRDB
import PostgreSQLStore
import PushProtocol
import SQLiteStore
import ServerCrypto
import StatusCrypto
import Store
import TestSupport
import Testing
import Wire

/// Secrets at rest: in a new database, and while its key is rotated.
@Suite(.fewAtATime)
struct SealingTests {
    private let secrets = PlantedSecrets()

    @Test(arguments: SealableStore.all)
    func `a new database never contains a secret`(kind: SealableStore) async throws {
        let folder = try TemporaryFolder()
        let store = try kind.open(folder, sealingKeys(1))
        #expect(try await store.sealingProgress() == .sealed)
        try await secrets.plant(in: store)
        try await secrets.expectComplete(in: store)
        #expect(try kind.find(PlantedSecrets.traces, folder).isEmpty)
        await store.close()
        #expect(try kind.find(PlantedSecrets.traces, folder).isEmpty)
        let again = try kind.open(folder, sealingKeys(1))
        try await secrets.expectComplete(in: again)
        await again.close()
    }

    @Test(arguments: SealableStore.all)
    func `a database works while it is re-sealed, and needs only the new key afterwards`(kind: SealableStore) async throws {
        let folder = try await planted(kind)
        let store = try kind.open(folder, sealingKeys(2, 1))
        #expect(try await store.sealingProgress() == .resealing(0))
        var fractions: [Double] = []
        while case .resealing(let fraction) = try await store.resealNext() {
            fractions.append(fraction)
            if fractions.count.isMultiple(of: 3) { try await secrets.expectComplete(in: store) }
        }
        #expect(fractions == fractions.sorted() && fractions.count > 6)
        try await secrets.expectComplete(in: store)
        #expect(try await store.resealNext() == .sealed)
        await store.close()
        try await expectSealed(kind, folder, sealingKeys(2))
    }

    @Test(arguments: SealableStore.all)
    func `re-sealing continues after a crash at any step`(kind: SealableStore) async throws {
        let folder = try await planted(kind)
        var stores: [any PushStore] = []
        var progress = SealingProgress.resealing(0)
        while progress != .sealed {
            // The earlier stores stay open, like those of a killed process.
            let store = try kind.open(folder, sealingKeys(2, 1))
            progress = try await store.resealNext()
            stores.append(store)
        }
        #expect(stores.count > 6)
        for store in stores { await store.close() }
        try await expectSealed(kind, folder, sealingKeys(2))
    }

    @Test(arguments: SealableStore.all)
    func `rows that change while a database is re-sealed are sealed with the new key`(kind: SealableStore) async throws {
        let folder = try await planted(kind)
        let store = try kind.open(folder, sealingKeys(2, 1))
        while case .resealing(let fraction) = try await store.resealNext(), fraction < 0.5 {}
        try await store.unregister(installation(1, key: 1), version: 3)
        var renewed = registration(installation(2, key: 2), version: 9)
        renewed.content.deviceToken = "secret-renewed"
        try await store.register(renewed)
        let gone = try await store.unregister(
            token: "secret-renewed", attemptedAt: start.advanced(by: .seconds(1)), at: start.advanced(by: .seconds(1)))
        #expect(gone.count == 1)
        while try await store.resealNext() != .sealed {}
        await store.close()
        let later = try kind.open(folder, sealingKeys(2))
        #expect(try await later.deadRegistrations(limit: 9).count == 3)
        #expect(try await later.restoreDeadRegistrations(nil, at: start).count == 3)
        await later.close()
    }

    @Test(arguments: SealableStore.all)
    func `dead tokens are compared before and after the key is rotated`(kind: SealableStore) async throws {
        let folder = try TemporaryFolder()
        let first = try kind.open(folder, sealingKeys(1))
        let token: DeviceToken = "0123456789abcdef-dead"
        func registered(_ number: Int) -> Registration {
            var registration = registration(installation(number, key: number))
            registration.content.deviceToken = token
            return registration
        }
        for number in 1...2 { try await first.register(registered(number)) }
        await first.close()
        let store = try kind.open(folder, sealingKeys(2, 1))
        try await store.register(registered(3))
        let later = start.advanced(by: .seconds(1))
        #expect(try await store.unregister(token: token, attemptedAt: later, at: later).count == 3)
        for number in 1...3 { try await store.register(registered(number).with(version: 2)) }
        while try await store.resealNext() != .sealed {}
        #expect(try await store.unregister(token: "0123456789abcdef-else", attemptedAt: later, at: later).isEmpty)
        #expect(try await store.unregister(token: token, attemptedAt: later, at: later).count == 3)
        await store.close()
    }

    @Test(arguments: SealableStore.all)
    func `a rotation re-seals everything with the new key, and the old key is not needed any more`(kind: SealableStore) async throws {
        let folder = try TemporaryFolder()
        let first = try kind.open(folder, sealingKeys(1))
        try await secrets.plant(in: first)
        await first.close()

        let store = try kind.open(folder, sealingKeys(2, 1))
        while case .resealing(let fraction) = try await store.resealNext(), fraction < 0.3 {}
        try await secrets.expectComplete(in: store)
        await store.close()
        #expect(throws: StoreError.sealingKeyUnknown(id: 1)) { try kind.open(folder, sealingKeys(2)) }
        #expect(throws: StoreError.sealingKeyUnknown(id: 2)) { try kind.open(folder, sealingKeys(1)) }

        // A third key during the rotation restarts it.
        let third = try kind.open(folder, sealingKeys(3, 2, 1))
        #expect(try await third.sealingProgress() == .resealing(0))
        while try await third.resealNext() != .sealed {}
        await third.close()
        try await expectSealed(kind, folder, sealingKeys(3))
    }

    /// Two servers may share a PostgreSQL database.
    @Test func `a server with an older newest key leaves re-sealing to the others`() async throws {
        let folder = try TemporaryFolder()
        let older = try folder.openPostgreSQL(sealingKeys: sealingKeys(1, 2))
        try await secrets.plant(in: older)
        let newer = try folder.openPostgreSQL(sealingKeys: sealingKeys(2, 1))
        #expect(try await older.resealNext() == .resealing(0))
        while try await newer.resealNext() != .sealed { _ = try await older.resealNext() }
        await older.close()
        await newer.close()
        let store = try folder.openPostgreSQL(sealingKeys: sealingKeys(2))
        try await secrets.expectComplete(in: store)
        await store.close()
    }

    @Test(arguments: SealableStore.all)
    func `a start with a wrong key, an unknown one or none fails clearly`(kind: SealableStore) async throws {
        let folder = try TemporaryFolder()
        try await kind.open(folder, sealingKeys(1)).close()
        for (keys, error) in [
            (nil, StoreError.sealingKeyMissing), (sealingKeys(2), .sealingKeyUnknown(id: 1)),
            (sealingKeys(1, seed: 7), .sealingKeyWrong(id: 1)), (sealingKeys(2, 1, seed: 7), .sealingKeyWrong(id: 1)),
        ] {
            #expect(throws: error) { try kind.open(folder, keys) }
            #expect(error.isConfigurationFault)
        }
        try await kind.open(folder, sealingKeys(1)).close()
    }

    @Test func `a tool without the keys reads what is not sealed`() async throws {
        let folder = try TemporaryFolder()
        let store = try folder.open(sealingKeys: sealingKeys(1))
        try await secrets.plant(in: store)
        await store.close()
        let tool = try folder.open(sealingKeys: nil, readOnly: true)
        #expect(try await tool.registrationCounts().live.values.reduce(0, +) == 298)
        #expect(Audit(try await tool.auditFacts()).balances)
        await #expect(throws: StoreError.sealingKeyMissing) { try await tool.deadRegistrations(limit: 1) }
        try await DatabaseCopier(path: folder.database).copy(to: folder.path("backup.sqlite"))
        #expect(try SealableStore.all[0].find(PlantedSecrets.traces, folder).isEmpty)
        await tool.close()
        let withKeys = try folder.open(sealingKeys: sealingKeys(1), readOnly: true)
        #expect(try await withKeys.deadRegistrations(limit: 9).count == 2)
        await withKeys.close()
    }

    @Test(
        arguments: SealableStore.all,
        [
            "UPDATE registration SET secrets = (SELECT secrets FROM registration WHERE id = 2) WHERE id = 1",
            "UPDATE registration SET version = 3 WHERE id = 1", "UPDATE registration SET secrets = substr(secrets, 2) WHERE id = 1",
        ])
    func `a sealed value that was put into another row is damaged`(kind: SealableStore, sql: String) async throws {
        let folder = try TemporaryFolder()
        let store = try kind.open(folder, sealingKeys(1))
        for number in 1...2 { try await store.register(registration(installation(number, key: number), version: 2)) }
        #expect(try await store.target(installation(1, key: 1)) != nil)
        try kind.execute(sql, folder)
        #expect(try await store.target(installation(1, key: 1)) == nil)
        #expect(try await store.auditFacts().setAside == ["registration 1"])
        #expect(try await store.target(installation(2, key: 2)) != nil)
        await store.close()
    }

    /// Returns a folder with a database of the first key.
    private func planted(_ kind: SealableStore) async throws -> TemporaryFolder {
        let folder = try TemporaryFolder()
        let store = try kind.open(folder, sealingKeys(1))
        try await secrets.plant(in: store)
        await store.close()
        return folder
    }

    /// Expects that the next start compacts SQLite's file, and that the database then contains no secret.
    private func expectSealed(_ kind: SealableStore, _ folder: TemporaryFolder, _ keys: SealingKeys?) async throws {
        let store = try kind.open(folder, keys)
        #expect(try await store.sealingProgress() == .sealed)
        try await secrets.expectComplete(in: store)
        #expect(try kind.find(PlantedSecrets.traces, folder).isEmpty)
        await store.close()
        #expect(try kind.find(PlantedSecrets.traces, folder).isEmpty)
    }
}

extension Registration {
    fileprivate func with(version: UInt64) -> Registration {
        var changed = self
        changed.content.version = version
        return changed
    }
}
