import Bytes
import Envelope
import PushProtocol
import Store
import TestSupport
import Testing
import Wire

/// Rows that cannot be read, among others that can.
@Suite(.fewAtATime) struct DamagedRowTests {
    private static let routes: Set = [RouteAssignment(tokenType: .apn, apnTopic: "", route: "ios")]

    @Test(arguments: SealableStore.all)
    func `a damaged message is set aside, and the others of its page are read`(kind: SealableStore) async throws {
        let folder = try TemporaryFolder()
        let store = try kind.open(folder, sealingKeys(1))
        for number in 1...3 { _ = try await store.record(number) }
        let answered = try await store.record(4)
        try await store.decide([answered], as: .answered(reply(4, status: hash(4))))
        try kind.execute("UPDATE message SET envelope = \(kind.blob("ff")) WHERE id = 2", folder)
        try kind.execute("UPDATE message SET sealed_reply = \(kind.blob("01ff")) WHERE id = 4", folder)
        #expect(try await store.undecided([1, 2, 3]).map(\.id) == [1, 3])
        #expect(try await store.unreplied([4]).isEmpty)
        #expect(store.damagedRowCount == 2)
        let facts = try await store.auditFacts()
        #expect(facts.undecidedCount == 3 && facts.setAside == ["message 2", "message 4"] && Audit(facts).balances)
        await store.close()

        // The next start reads them again.
        let again = try kind.open(folder, sealingKeys(1))
        #expect(try await again.unfinishedRows().undecided == [1, 2, 3])
        #expect(try await again.auditFacts().setAside == [])
        #expect(try await again.undecided([2]).isEmpty)
        #expect(again.damagedRowCount == 1)
        await again.close()
    }

    @Test(arguments: SealableStore.all)
    func `a damaged push is set aside until the next start, never expires, and delays no other`(
        kind: SealableStore
    ) async throws {
        let folder = try TemporaryFolder()
        let store = try kind.open(folder, sealingKeys(1))
        _ = try await store.takeOverOutbox(routes: Self.routes, latest: start)
        try await store.enqueue((1...3).map { push($0) })
        try kind.execute("UPDATE push SET secrets = \(kind.blob("01ff")) WHERE id = 2", folder)
        #expect(try await store.duePushes(route: "ios", at: start, limit: 9).map(\.id) == [1, 3])
        #expect(store.damagedRowCount == 1)
        try await store.change([1, 3], to: .finish(.sent))
        #expect(try await store.duePushes(route: "ios", at: start, limit: 9).isEmpty)
        #expect(try await store.nextAttempt(route: "ios") == nil)
        let later = start.advanced(by: .seconds(1_000_000))
        #expect(try await store.expirePushes(route: "ios", acceptedBefore: later, limit: 9, at: later) == 0)
        let facts = try await store.auditFacts()
        #expect(facts.openCount == 1 && facts.setAside == ["push 2"] && Audit(facts).balances)
        await store.close()

        let again = try kind.open(folder, sealingKeys(1))
        _ = try await again.takeOverOutbox(routes: Self.routes, latest: start)
        #expect(try await again.auditFacts().setAside == [])
        #expect(try await again.duePushes(route: "ios", at: start, limit: 9).isEmpty)
        #expect(again.damagedRowCount == 1)
        await again.close()
    }

    @Test(arguments: SealableStore.all)
    func `a push to a gateway's device that cannot be read is set aside until the next start, and others are found`(
        kind: SealableStore
    ) async throws {
        let folder = try TemporaryFolder()
        let store = try kind.open(folder, sealingKeys(1))
        _ = try await store.takeOverOutbox(routes: Self.routes, latest: start)
        for number in 1...3 {
            let device = ProxyStoreTests.device(number, token: DeviceToken("token \(number)"))
            try await store.changeDevice(device.identifier, at: start) { _ in (.put(device), ()) }
            let notification = GatewayNotification(
                platform: .ios, token: device.token, topic: device.topic, kind: .alert, priority: .high, data: [:])
            let accepted = AcceptedNotification(notification, digest: hash(number), owner: device.identifier.digest.bytes)
            _ = try await store.enqueue([accepted], repeatsSince: nil, isDiscarded: false, at: start)
        }
        func setCallToken(_ sql: String) throws {
            let device = kind.blob(Hex.encode((hash(2) as Digest64).bytes))
            try kind.execute("UPDATE nextcloud_device SET voip_secrets = \(sql) WHERE identifier = \(device)", folder)
        }
        try setCallToken(kind.blob("01ff"))
        let choices = try await store.waitingDevices(route: "ios").map { PushChoice.next(of: $0.device) } + [.row(2)]
        let found = try await store.pushes(choices, route: "ios", acceptedSince: start, at: start)
        #expect(found.compactMap { if case .push(let push, _) = $0 { Int(push.id) } else { nil } }.sorted() == [1, 3])
        #expect(try await store.nextAttempt(route: "ios") != nil)
        #expect(store.damagedRowCount == 1)
        let facts = try await store.auditFacts()
        #expect(facts.openCount == 3 && facts.setAside == ["push 2"] && Audit(facts).balances)
        await store.close()

        let again = try kind.open(folder, sealingKeys(1))
        try setCallToken("NULL")
        _ = try await again.takeOverOutbox(routes: Self.routes, latest: start)
        #expect(try await again.duePushes(route: "ios", at: start, limit: 9).map(\.id) == [1, 2, 3])
        await again.close()
    }

    @Test(arguments: SealableStore.all)
    func `a gateway's device that cannot be read is damaged beside others, and can be stored again`(kind: SealableStore) async throws {
        let folder = try TemporaryFolder()
        let store = try kind.open(folder, sealingKeys(1))
        let devices = (1...3).map { ProxyStoreTests.device($0, token: DeviceToken("token \($0)")) }
        for device in devices { try await store.changeDevice(device.identifier, at: start) { _ in (.put(device), ()) } }
        let second = kind.blob(Hex.encode((hash(2) as Digest64).bytes))
        try kind.execute("UPDATE nextcloud_device SET secrets = \(kind.blob("01ff")) WHERE identifier = \(second)", folder)
        func known() async throws -> [StoredDevice?] {
            let known = try await store.devices(Set(devices.map(\.identifier)), removedSince: start).known
            return devices.map { known[$0.identifier] }
        }
        for _ in 1...2 { #expect(try await known() == [.readable(devices[0]), .damaged, .readable(devices[2])]) }
        #expect(store.damagedRowCount == 1)
        let seen = try await store.changeDevice(devices[1].identifier, at: start) { [device = devices[1]] in (.put(device), $0) }
        #expect(seen == .damaged)
        #expect(try await known() == devices.map { .readable($0) })
        await store.close()
    }

    @Test(arguments: SealableStore.all)
    func `a registration that cannot be read holds up no outcome and no removal of others`(kind: SealableStore) async throws {
        let folder = try TemporaryFolder()
        let store = try kind.open(folder, sealingKeys(1))
        for number in 1...3 { try await store.register(registration(installation(number), version: UInt64(number))) }
        try kind.execute("UPDATE registration SET secrets = \(kind.blob("01ff")) WHERE id = 1", folder)
        let attemptedAt = start.advanced(by: .seconds(1))
        for (number, count) in [(1, 0), (2, 1)] {
            let removed = try await store.unregister(token: "device token \(number)", attemptedAt: attemptedAt, at: attemptedAt)
            #expect(removed.count == count)
        }
        #expect(try await store.deadRegistrations(limit: 9).map(\.installation) == [installation(2)])
        #expect(store.damagedRowCount == 1)
        try kind.execute("UPDATE dead_registration SET secrets = \(kind.blob("01ff"))", folder)
        #expect(try await store.deadRegistrations(limit: 9).isEmpty)
        #expect(store.damagedRowCount == 2)
        #expect(try await store.version(of: installation(3))?.isRegistered == true)
        await store.close()
    }

    @Test(arguments: SealableStore.all)
    func `a registration that cannot be read is passed over, and a request finds the others`(kind: SealableStore) async throws {
        let folder = try TemporaryFolder()
        let store = try kind.open(folder, sealingKeys(1))
        for number in 1...3 { try await store.register(registration(installation(number))) }
        try kind.execute("UPDATE registration SET secrets = \(kind.blob("01ff")) WHERE id = 2", folder)
        let state = try await store.state { lookups in
            lookups.targets = Dictionary(uniqueKeysWithValues: (1...3).map { (installation($0), []) })
        }
        #expect(Set(state.targets.keys) == [installation(1), installation(3)])
        #expect(store.damagedRowCount == 1)
        let audit = try await store.auditFacts()
        #expect(audit.setAside == ["registration 2"] && Audit(audit).balances)
        await store.close()

        let again = try kind.open(folder, sealingKeys(1))
        _ = try await again.takeOverOutbox(routes: Self.routes, latest: start)
        #expect(try await again.auditFacts().setAside == [])
        #expect(try await again.target(installation(2)) == nil)
        #expect(try await again.auditFacts().setAside == ["registration 2"])
        try await again.register(registration(installation(2), version: 2))
        #expect(try await again.target(installation(2)) != nil)
        await again.close()
    }

    @Test(arguments: SealableStore.all)
    func `a registration that cannot be read is passed over, and a query finds the others`(kind: SealableStore) async throws {
        let folder = try TemporaryFolder()
        let store = try kind.open(folder, sealingKeys(1))
        for number in 1...3 { try await store.register(registration(installation(number))) }
        try kind.execute("UPDATE registration SET secrets = \(kind.blob("01ff")) WHERE id = 2", folder)
        #expect(try await store.queryable()?.map(\.installationID) == [1, 3].map { installation($0).installationID })
        #expect(try await store.auditFacts().setAside == ["registration 2"])
        try await store.unregister(installation(2), version: 2)
        #expect(try await store.auditFacts().setAside == [])
        await store.close()
    }

    @Test(arguments: SealableStore.all)
    func `a damaged push that waits for a credit holds up no request to its device`(kind: SealableStore) async throws {
        let folder = try TemporaryFolder()
        let store = try kind.open(folder, sealingKeys(1))
        let target = push(1).target
        try await store.apply(at: start) { $0.enqueue(push(1), message: 1, due: start.advanced(by: .seconds(5))) }
        func deferredCount() async throws -> Int {
            try await store.state { lookups in
                lookups.pushCounts = [target: 100]
                lookups.allowances.now = start
            }.deferredPushes.count
        }
        #expect(try await deferredCount() == 1)
        try kind.execute("UPDATE push SET secrets = \(kind.blob("01ff"))", folder)
        #expect(try await deferredCount() == 0)
        await store.close()
    }

    @Test(arguments: SealableStore.all)
    func `a copy that cannot be read does not keep others from being restored`(kind: SealableStore) async throws {
        let folder = try TemporaryFolder()
        let store = try kind.open(folder, sealingKeys(1))
        let attemptedAt = start.advanced(by: .seconds(1))
        for number in 1...3 {
            try await store.register(registration(installation(number), version: UInt64(number)))
            _ = try await store.unregister(token: "device token \(number)", attemptedAt: attemptedAt, at: attemptedAt)
        }
        try kind.execute("UPDATE dead_registration SET secrets = \(kind.blob("01ff")) WHERE id = 2", folder)
        #expect(try await store.restoreDeadRegistrations(nil, at: attemptedAt).count == 2)
        #expect(try await store.restoreDeadRegistrations([2, 9], at: attemptedAt).isEmpty)
        #expect(store.damagedRowCount == 1)
        #expect(try await store.version(of: installation(3))?.isRegistered == true)
        await store.close()
    }

    @Test(arguments: SealableStore.all)
    func `a rotation passes over a row of any table that does not open`(kind: SealableStore) async throws {
        let folder = try TemporaryFolder()
        let first = try kind.open(folder, sealingKeys(1))
        let secrets = PlantedSecrets()
        try await secrets.plant(in: first)
        for user in ["bob", "carol"] { _ = try await first.addOriginUserKey([1], of: user) }
        await first.close()
        let user = kind.testDescription == "SQLite" ? "user" : "user_name"
        let device = kind.blob(Hex.encode((hash(3) as Digest64).bytes))
        for (table, column, row) in [
            ("registration", "secrets", "id = 2"), ("dead_registration", "secrets", "id = 1"), ("push", "secrets", "id = 30"),
            ("message", "sealed_reply", "id = 2"), ("nextcloud_device", "secrets", "identifier = \(device)"),
            ("nextcloud_origin_key", "secrets", "\(user) = 'bob'"), ("nextcloud_origin_push", "secrets", "id = 1"),
        ] {
            try kind.execute("UPDATE \(table) SET \(column) = \(kind.blob("01ff")) WHERE \(row)", folder)
        }
        let store = try kind.open(folder, sealingKeys(2, 1))
        while try await store.resealNext() != .sealed {}
        await store.close()
        let later = try kind.open(folder, sealingKeys(2))
        #expect(try await later.originUserKey(of: "carol") == [1])
        #expect(try await later.target(installation(3, key: 3)) != nil)
        await later.close()
    }
}
