import Bytes
import Foundation
import GRDB
import StatusCrypto
import TestServers
import TestSupport
import Testing
import Wire

/// `pushctl audit`, `registrations`, `dead-tokens` and `backup` as operators and scripts use them (INTERFACE.md): arguments, two streams
/// and an exit code, while a server runs.
@Suite(.fewAtATime)
struct OperatorToolTests {
    private static let someKey = "0x0279be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798"

    @Test(arguments: TestDatabase.allCases)
    func `audit prints each balance, and fails if one does not balance`(database: TestDatabase) async throws {
        try await withServerWorld(on: database) { world async throws in
            let readable = try await world.pushctl("audit")
            #expect(readable.exitCode == 0 && readable.error.isEmpty)
            let lines = readable.output.split(separator: "\n")
            let balances = lines.filter { !$0.hasPrefix("server ") }
            #expect(balances.allSatisfy { $0.hasPrefix("ok   ") }, "\(readable.output)")
            #expect((balances.count == lines.count) == (database == .sqlite), "\(readable.output)")
            #expect(readable.output.contains("ok   accepted = merged + coalesced + sent"))

            let json = try await world.pushctl("audit", "--json").decoded(as: AuditOutput.self).lines
            #expect(json.count == balances.count && json.allSatisfy(\.balances))
            #expect(json.first { $0.name.hasPrefix("received =") }.map { $0.expected > 0 && $0.found == $0.expected } == true)

            try world.database.execute("UPDATE ledger SET count = count + 1 WHERE milestone = 'processed'")
            let wrong = try await world.pushctl("audit")
            #expect(wrong.exitCode == 1 && wrong.output.contains("BAD  ") && wrong.error.contains("does not balance"))
            // If both streams go to one file, the result precedes the reason of the failure.
            let together = try await ChildProcess.run(
                "/bin/sh", ["-c", "exec \"$0\" audit --database \"$1\" 2>&1", ChildProcess.path(of: "pushctl"), world.database.location])
            #expect(together.output.split(separator: "\n").last?.contains("does not balance") == true, "\(together.output)")
            let wrongJSON = try await world.pushctl("audit", "--json")
            #expect(wrongJSON.exitCode == 1)
            #expect(try wrongJSON.decoded(as: AuditOutput.self).lines.contains { !$0.balances && $0.expected != $0.found })
            try world.database.execute("UPDATE ledger SET count = count - 1 WHERE milestone = 'processed'")

            try world.database.execute(
                "INSERT INTO damaged_row (kind, row) SELECT 'registration', id FROM registration WHERE installation_id IS NOT NULL")
            let warned = try await world.pushctl("audit")
            #expect(warned.exitCode == 0)
            #expect(warned.output.contains("warning: 1 damaged rows are set aside (registration "), "\(warned.output)")
        }
    }

    @Test(arguments: TestDatabase.allCases)
    func `registrations are counted, or shown for one key, never with a token`(database: TestDatabase) async throws {
        try await withServerWorld(on: database) { world async throws in
            let counts = try await world.pushctl("registrations", "--json").decoded(as: [String: Int].self)
            #expect(counts == ["apn": 1, "firebase": 0, "nextcloud": 0, "nextcloudOrigin": 0, "unregistered": 1])
            let readable = try await world.pushctl("registrations")
            #expect(readable.output.split(separator: "\n").count == 5 && readable.output.contains("unregistered  1"))

            let hash = Hex.encode(world.alice.keyHash.bytes)
            for name in [hash, "0x" + hash, Hex.encode(world.alice.key.publicKey.uncompressed.bytes, prefix: "0x")] {
                let shown = try await world.pushctl("registrations", "--owner", name)
                #expect(shown.exitCode == 0)
                #expect(shown.output == "c6ae4fde-bb65-11ea-b3de-0242ac130004  version 1  apn, im.status.ethereum")
            }
            let summaries = try await world.pushctl("registrations", "--owner", hash, "--json").decoded(as: [Summary].self)
            #expect(summaries.map(\.version) == ["1"] && summaries.map(\.isRegistered) == [true])
            let gone = try await world.pushctl("registrations", "--owner", Hex.encode(world.carol.keyHash.bytes))
            #expect(gone.exitCode == 0 && gone.output.hasSuffix("version 2  unregistered"))

            let nobody = try await world.pushctl("registrations", "--owner", String(repeating: "0", count: 128))
            #expect(nobody.exitCode == 1 && nobody.error.contains("does not know that key"))
            #expect(try await world.pushctl("registrations", "--owner", "zz").exitCode == 64)
        }
    }

    @Test(arguments: TestDatabase.allCases)
    func `dead tokens are listed, and restored by the running server`(database: TestDatabase) async throws {
        try await withServerWorld(on: database) { world async throws in
            #expect(try await world.pushctl("dead-tokens").output.isEmpty)
            try await world.loseDevice()
            let entries = try await world.pushctl("dead-tokens", "list", "--json").decoded(as: [DeadToken].self)
            #expect(entries.map(\.reason) == ["Unregistered"] && entries.map(\.route) == ["ios"] && entries.map(\.version) == ["1"])
            #expect(entries.map(\.keyHash) == [world.alice.keyHash.description])
            #expect(entries.allSatisfy { (try? Date($0.diedAt, strategy: .iso8601)) != nil })
            let readable = try await world.pushctl("dead-tokens")
            #expect(readable.exitCode == 0 && readable.output.hasPrefix("\(entries[0].id)  ") && readable.output.contains("Unregistered"))
            #expect(try await world.pushctl("dead-tokens", "list", "--limit", "0").output.isEmpty)

            let admin = "http://\(world.server.addresses.admin)"
            #expect(try await world.pushctl("dead-tokens", "restore").exitCode == 64)
            #expect(try await world.pushctl("dead-tokens", "restore", "--all", "1").exitCode == 64)
            let unknown = try await world.pushctl("dead-tokens", "restore", "99", "--admin", admin)
            #expect(unknown.exitCode == 1 && unknown.error.contains("No registration was restored"))
            let restored = try await world.pushctl("dead-tokens", "restore", "\(entries[0].id)", "--admin", admin)
            #expect(restored.exitCode == 0 && restored.output == "restored 1")
            let none = try await world.pushctl("dead-tokens", "restore", "--all", "--json", "--admin", admin)
            #expect(try none.decoded(as: [String: Int].self) == ["restored": 0])
            #expect(try await world.pushctl("registrations").output.contains("apn           1"))

            try world.folder.write("admin:\n  listen: \(world.server.addresses.admin)\n", to: "admin.yaml")
            let configured = try await world.pushctl("dead-tokens", "restore", "--all", "--config", world.folder.path("admin.yaml"))
            #expect(configured.exitCode == 0 && configured.output == "restored 0", "\(configured.error)")

            let nobodyThere = try await world.pushctl("dead-tokens", "restore", "--all", "--admin", "http://127.0.0.1:1")
            #expect(nobodyThere.exitCode == 69 && nobodyThere.error.contains("http://127.0.0.1:1"))
            // The server rejects another server's token.
            try world.folder.write("0123", to: "push.sqlite.admin-token")
            let refused = try await world.pushctl("dead-tokens", "restore", "--all", "--admin", admin)
            #expect(refused.exitCode == 1 && refused.error.contains("401"))
            try FileManager.default.removeItem(atPath: world.adminTokenFile)
            let withoutToken = try await world.pushctl("dead-tokens", "restore", "--all", "--admin", admin)
            #expect(withoutToken.exitCode == 78 && withoutToken.error.contains("admin-token"))
        }
    }

    @Test func `a backup of a running server is complete, readable only by its owner, and usable by a server`() async throws {
        let other = try TemporaryFolder()
        let path = other.path("push.sqlite")
        try await withServerWorld { world async throws in
            let made = try await world.pushctl("backup", path)
            #expect(made.exitCode == 0 && made.output.isEmpty && made.error.isEmpty)
            let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
            #expect(mode == 0o600)
            // The command never overwrites a file.
            let again = try await world.pushctl("backup", path)
            #expect(again.exitCode == 64 && again.error.contains("already exists"))
            let nowhere = try await world.pushctl("backup", other.path("no/such/folder"))
            #expect(nowhere.exitCode == 78 && nowhere.error.contains("cannot create"))
            for name in ["identity.key", "sealing.key"] {
                try FileManager.default.copyItem(atPath: world.folder.path(name), toPath: other.path(name))
            }
        }
        let audit = try await ChildProcess.run("pushctl", ["audit", "--database", path])
        #expect(audit.exitCode == 0)
        let server = try await ServerProcess.start(in: other)
        let counts = try await ChildProcess.run("pushctl", ["registrations", "--json", "--database", path])
        #expect(
            try counts.decoded(as: [String: Int].self) == [
                "apn": 1, "firebase": 0, "nextcloud": 0, "nextcloudOrigin": 0, "unregistered": 1,
            ])
        #expect(await server.terminate() == 0)
    }

    @Test(arguments: TestDatabase.allCases)
    func `a key is forgotten after the server has stopped; forget fails while a server runs`(database: TestDatabase) async throws {
        try await withServerWorld(on: database) { world async throws in
            let key = Hex.encode(world.alice.key.publicKey.uncompressed.bytes, prefix: "0x")
            let refused = try await world.pushctl("forget", "--owner", key)
            #expect(refused.exitCode == 78 && refused.output.isEmpty && refused.error.contains("Stop it first"))
            #expect(try await world.pushctl("registrations").output.contains("apn           1"))
            #expect(await world.server.terminate() == 0)

            #expect(try await world.pushctl("forget", "--owner", "zz").exitCode == 64)
            let forgotten = try await world.pushctl("forget", "--owner", key, "--json").decoded(as: [String: Int].self)
            #expect(forgotten["registrations"] == 1 && forgotten["tombstones"] == 1)
            #expect(try await world.pushctl("registrations").output.contains("unregistered  2"))
            #expect(try await world.pushctl("audit").exitCode == 0)
            let stranger = Hex.encode(ProtocolClient(server: world.alice.server).key.publicKey.compressed.bytes)
            let unknown = try await world.pushctl("forget", "--owner", stranger)
            #expect(unknown.exitCode == 1 && unknown.error.contains("does not know that key"))
        }
    }

    @Test(arguments: TestDatabase.allCases)
    func `trace shows the history of a push by its message or its device, without secrets`(database: TestDatabase) async throws {
        try await withServerWorld(on: database) { world async throws in
            #expect(try await world.request() == nil)
            try await world.database.wait(for: "push WHERE finished_at IS NOT NULL") { $0 == 1 }
            try await world.database.waitUntilFinished()
            let messageID = Hex.encode(try world.database.bytes("SELECT hash FROM message JOIN push ON push.message = message.id"))
            let byMessage = try await world.pushctl("trace", "--message", messageID, "--json")
            #expect(byMessage.exitCode == 0, "\(byMessage.error)")
            let traces = try byMessage.decoded(as: [Trace].self)
            #expect(traces.map(\.result) == ["accepted"] && traces.map(\.attempts) == [1])
            #expect(traces.map(\.isReplyPublished) == [true] && traces[0].receivedAt != nil)

            let device = [
                "trace", "--owner", Hex.encode(world.alice.keyHash.bytes), "--installation",
                "c6ae4fde-bb65-11ea-b3de-0242ac130004",
            ]
            let byDevice = try await world.server.pushctl(device + ["--json"])
            #expect(try byDevice.decoded(as: [Trace].self).map(\.acceptedAt) == traces.map(\.acceptedAt))
            let readable = try await world.server.pushctl(device)
            #expect(readable.output.contains("  attempts  1, the newest at ") && readable.output.contains("  state     sent at "))
            let registration = world.alice.registration()
            for secret in [registration.deviceToken.text, registration.accessToken.text] {
                #expect(!secret.isEmpty && !byDevice.output.contains(secret) && !readable.output.contains(secret))
            }

            let unknown = try await world.pushctl("trace", "--message", "00")
            #expect(unknown.exitCode == 1 && unknown.error.contains("no such push"))
            #expect(try await world.pushctl("trace", "--installation", "x").exitCode == 64)
            #expect(try await world.pushctl("trace").exitCode == 64)
        }
    }

    @Test(arguments: TestDatabase.allCases)
    func `pushes shows what waits and why, and a sum that balances, without secrets`(database: TestDatabase) async throws {
        try await withServerWorld(on: database) { world async throws in
            let idle = try await world.pushctl("pushes")
            #expect(idle.exitCode == 0 && idle.output.hasPrefix("no push waits\n"), "\(idle.output)\(idle.error)")
            _ = try await world.push()
            try await world.database.waitUntilFinished()
            world.gorush.fail(token: world.alice.registration().deviceToken.text, with: "TooManyRequests")
            #expect(try await world.request() == nil)
            try await world.database.wait(for: "push WHERE reason IS NOT NULL") { $0 == 1 }

            let waiting = try await world.pushctl("pushes", "--since", "24h", "--json").decoded(as: Pushes.self)
            #expect(waiting.groups.map(\.route) == ["ios"] && waiting.groups.map(\.count) == [1])
            #expect(waiting.oldest.map(\.reason) == waiting.groups.map(\.reason) && waiting.oldest.map(\.attempts) == [1])
            #expect(waiting.groups[0].reason != nil && waiting.groups[0].oldestAcceptedAt == waiting.oldest[0].acceptedAt)
            for sums in [waiting.sums, waiting.ledger] {
                #expect(sums["accepted"] == 2 && sums["sent"] == 1 && sums["waiting"] == 1, "\(sums)")
                #expect(sums.filter { $0.key != "accepted" }.values.reduce(0, +) == 2, "\(sums)")
            }
            let readable = try await world.pushctl("pushes")
            #expect(
                readable.output.hasPrefix("1 push waits, the oldest for ") && readable.output.contains("remedy: "), "\(readable.output)")
            #expect(readable.output.contains("  accepted 2 = sent 1 + "), "\(readable.output)")
            for text in ["49h", "1d", "soon"] { #expect(try await world.pushctl("pushes", "--since", text).exitCode == 64) }
            world.gorush.fail(token: world.alice.registration().deviceToken.text, with: nil)
        }
    }

    private struct Pushes: Decodable {
        struct Group: Decodable {
            var route: String
            var reason: String?
            var count: Int
            var oldestAcceptedAt: String
        }

        struct Push: Decodable {
            var acceptedAt: String
            var attempts: Int
            var reason: String?
        }

        var groups: [Group]
        var oldest: [Push]
        var sums: [String: Int]
        var ledger: [String: Int]
    }

    private struct Trace: Decodable {
        var result: String
        var receivedAt: String?
        var acceptedAt: String?
        var attempts: Int?
        var isReplyPublished: Bool?
    }

    @Test func `tools find the database by the server's configuration`() async throws {
        try await withServerWorld { world async throws in
            try world.folder.write("storage: { path: \(world.database.location) }\ngorush: { unknown: 1 }\n", to: "pushserver.yaml")
            let configuration = world.folder.path("pushserver.yaml")
            let copy = world.folder.path("copy.sqlite")
            for command in [["audit"], ["registrations"], ["dead-tokens"], ["backup", copy]] {
                let ended = try await ChildProcess.run("pushctl", command + ["--config", configuration])
                #expect(ended.exitCode == 0, "\(ended.error)")
                let named = try await ChildProcess.run("pushctl", ["audit"], environment: ["PUSHSERVER_CONFIG": configuration])
                #expect(named.exitCode == 0, "\(named.error)")
            }
            let missing = try await ChildProcess.run("pushctl", ["audit", "--config", world.folder.path("nowhere.yaml")])
            #expect(missing.exitCode == 78 && missing.error.contains("nowhere.yaml"))
            // They say which settings they used if they are asked, and if they fail.
            let verbose = try await ChildProcess.run("pushctl", ["audit", "--config", configuration, "--verbose"])
            #expect(verbose.exitCode == 0 && verbose.error == "Settings: \(configuration)")
            let failed = try await ChildProcess.run(
                "pushctl", ["trace", "--message", "00"],
                environment: ["PUSHSERVER_CONFIG": configuration, "PUSHSERVER_LOG_LEVEL": "info"])
            #expect(failed.exitCode == 1 && failed.error.hasSuffix("(settings: \(configuration), PUSHSERVER_LOG_LEVEL)"), "\(failed.error)")
        }
    }

    @Test func `top and doctor find the server's admin endpoints by its configuration, and the doctor its key there`() async throws {
        try await withServerWorld { world async throws in
            let configuration = try await world.configuration()
            let top = try await ChildProcess.run("pushctl", ["top", "--json"] + configuration)
            #expect(top.exitCode == 0 && top.output.contains(world.server.addresses.publicKey), "\(top.error)")
            let doctor = try await ChildProcess.run("pushctl", ["doctor", "--timeout", "5m"] + configuration)
            #expect(doctor.exitCode == 0 && doctor.output.contains("ok      delivery"), "\(doctor.output)\(doctor.error)")
            try world.folder.write("admin: { listen: 127.0.0.1:1 }\n", to: "pushserver.yaml")
            let nobody = try await ChildProcess.run("pushctl", ["doctor"] + configuration)
            #expect(nobody.exitCode == 64 && nobody.error.contains("No admin endpoints respond at http://127.0.0.1:1"), "\(nobody.error)")
        }
    }

    @Test func `a backup made under load can be restored, and its waiting pushes are retried or expire`() async throws {
        try await withStubGorush { gorush in
            gorush.breakDown(.hang)
            let folder = try TemporaryFolder()
            let settings = ["gorush.url": await gorush.url, "gorush.timeout": "600s"]
            let server = try await ServerProcess.start(in: folder, settings: settings)
            let world = try ServerWorld(server, in: folder, gorush)
            #expect(try await world.register(world.alice, version: 1) == nil)
            let backup = folder.path("backup.sqlite")
            for _ in 1...5 { #expect(try await world.request() == nil) }
            async let made = world.pushctl("backup", backup)
            for _ in 1...20 { #expect(try await world.request() == nil) }
            #expect(try await made.exitCode == 0)
            await server.kill()
            let copy = ServerDatabase(path: backup)
            let openCount = try copy.count("push WHERE finished_at IS NULL")
            #expect(openCount >= 5)
            try copy.execute("UPDATE push SET accepted_at = accepted_at - 3601000000000 WHERE id <= 2")

            let other = try TemporaryFolder()
            let place = other.path("push.sqlite")
            func restore(_ backup: String = backup) async throws -> ChildProcess.Ended {
                try await ChildProcess.run(
                    "pushctl", ["restore", backup, "--database", place, "--json"],
                    environment: ["PUSHSERVER_IDENTITY_KEY_FILE": other.path("identity.key")])
            }
            let withoutKey = try await restore()
            #expect(withoutKey.exitCode == 78 && withoutKey.error.contains("There is no key file \(other.path("identity.key"))"))
            try other.write(String(repeating: "7", count: 64), to: "identity.key")
            let wrongKey = try await restore()
            #expect(wrongKey.exitCode == 78 && wrongKey.error.contains("belongs to another identity"), "\(wrongKey.error)")
            try FileManager.default.removeItem(atPath: other.path("identity.key"))
            try FileManager.default.copyItem(atPath: folder.path("identity.key"), toPath: other.path("identity.key"))
            let withoutSealingKey = try await restore()
            #expect(withoutSealingKey.exitCode == 78, "\(withoutSealingKey.error)")
            #expect(withoutSealingKey.error.contains("there is no sealing key file \(other.path("sealing.key"))"))
            try other.write("2 \(String(repeating: "7", count: 64))\n", to: "sealing.key")
            let unknownKey = try await restore()
            #expect(unknownKey.exitCode == 78 && unknownKey.error.contains("needs the sealing key 1"), "\(unknownKey.error)")
            try FileManager.default.removeItem(atPath: other.path("sealing.key"))
            try FileManager.default.copyItem(atPath: folder.path("sealing.key"), toPath: other.path("sealing.key"))
            let hostile = folder.path("hostile.sqlite")
            try FileManager.default.copyItem(atPath: backup, toPath: hostile)
            try ServerDatabase(path: hostile).execute("CREATE TRIGGER t AFTER UPDATE ON push BEGIN DELETE FROM registration; END")
            let withTrigger = try await restore(hostile)
            #expect(withTrigger.exitCode == 78 && withTrigger.error.contains("has a trigger t"), "\(withTrigger.error)")
            #expect(
                try FileManager.default.contentsOfDirectory(atPath: other.path("")).sorted() == ["identity.key", "sealing.key"],
                "a refused backup leaves nothing behind")
            let restored = try await restore()
            #expect(restored.exitCode == 0, "\(restored.error)")
            let counts = try restored.decoded(as: Restored.self)
            #expect(counts.registrations == 1 && counts.expiredPushes == 2 && counts.uncertainPushes == openCount - 2)
            #expect(
                try FileManager.default.contentsOfDirectory(atPath: other.path("")).sorted() == [
                    "identity.key", "push.sqlite", "sealing.key",
                ])
            let mode = try FileManager.default.attributesOfItem(atPath: place)[.posixPermissions] as? Int
            #expect(mode == 0o600)
            let again = try await restore()
            #expect(again.exitCode == 78 && again.error.contains("move \(place)"))

            gorush.breakDown(nil)
            // A backup is restored long after it was made. What hung is attempted 150 s after its request.
            try ServerDatabase(path: place).execute("UPDATE push SET next_attempt_at = 0 WHERE finished_at IS NULL")
            let next = try await ServerProcess.start(in: other, settings: settings)
            try await ServerDatabase(path: place).wait(for: "push WHERE finished_at IS NULL") { $0 == 0 }
            #expect(await next.terminate() == 0)
            #expect(try ServerDatabase(path: place).count("push WHERE reason = 'restored'") == 2)
            let audit = try await ChildProcess.run("pushctl", ["audit", "--database", place])
            #expect(audit.exitCode == 0, "\(audit.output)")
        }
    }

    /// The folder of a service with `DynamicUser` is in a folder that only root may enter.
    @Test(.enabled(if: geteuid() == 0), arguments: [0o755, 0o700] as [mode_t])
    func `a database restored as root belongs to the owner of its folder, and root follows no links there`(above: mode_t) async throws {
        let (folder, outer, mine) = (try TemporaryFolder(), try TemporaryFolder(), try TemporaryFolder())
        let other = outer.url.appending(path: "state")
        try FileManager.default.createDirectory(at: other, withIntermediateDirectories: false)
        try #require(unsafe chmod(outer.path(""), above) == 0)
        #expect(await (try ServerProcess.start(in: folder)).terminate() == 0)
        let place = outer.path("state/push.sqlite")
        // The sealing key is next to it. Only root may read either.
        let keyFile = ["PUSHSERVER_IDENTITY_KEY_FILE": folder.path("identity.key")]
        func restore() async throws -> ChildProcess.Ended {
            try await ChildProcess.run(
                "pushctl", ["restore", folder.path("push.sqlite"), "--database", place], environment: keyFile)
        }
        let nobody: uid_t = 65_534
        try #require(unsafe chown(other.path(), nobody, nobody) == 0)
        // The service's user may create symbolic links next to its database. Their targets do not change.
        let victim = mine.path("victim")
        try mine.write("root's", to: "victim")
        try #require(unsafe chmod(victim, 0o644) == 0)
        try outer.write("", to: "state/push.sqlite")
        for suffix in ["-shm", ".plain"] { try #require(unsafe symlink(victim, place + suffix) == 0) }
        let refused = try await restore()
        #expect(refused.exitCode == 78, "\(refused.error)")
        #expect(try FileManager.default.ownerAndMode(of: victim) == [0, 0o644])
        #expect(try String(contentsOf: URL(filePath: victim), encoding: .utf8) == "root's")

        for name in try FileManager.default.contentsOfDirectory(atPath: other.path()) {
            try FileManager.default.removeItem(at: other.appending(path: name))
        }
        let restored = try await restore()
        #expect(restored.exitCode == 0, "\(restored.error)")
        #expect(try FileManager.default.ownerAndMode(of: place) == [Int(nobody), 0o600])
        let forgotten = try await ChildProcess.run(
            "pushctl", ["forget", "--owner", Self.someKey, "--database", place], environment: keyFile)
        #expect(forgotten.exitCode == 1 && forgotten.error.contains("does not know that key"), "\(forgotten.error)")
    }

    @Test func `a restore fails while a server runs that has not written yet`() async throws {
        let (folder, other) = (try TemporaryFolder(), try TemporaryFolder())
        #expect(await (try ServerProcess.start(in: folder)).terminate() == 0)
        try FileManager.default.copyItem(atPath: folder.path("identity.key"), toPath: other.path("identity.key"))
        try other.write("", to: "push.sqlite")
        // A server locks its database like this at its start.
        let descriptor = unsafe open(other.path("push.sqlite"), O_RDWR | O_CLOEXEC)
        defer { close(descriptor) }
        try #require(flock(descriptor, LOCK_EX | LOCK_NB) == 0)
        let ended = try await ChildProcess.run(
            "pushctl", ["restore", folder.path("push.sqlite"), "--database", other.path("push.sqlite")],
            environment: ["PUSHSERVER_IDENTITY_KEY_FILE": other.path("identity.key")])
        #expect(ended.exitCode == 78 && ended.error.contains("another process, a server or pushctl, uses the database"), "\(ended.error)")
        #expect(try Data(contentsOf: URL(filePath: other.path("push.sqlite"))).isEmpty)
    }

    @Test(arguments: [
        "VIEW v AS SELECT 1", "TRIGGER v AFTER DELETE ON message BEGIN SELECT 1; END", "TABLE t (a INTEGER, v AS (a + 1))",
    ])
    func `a backup with SQL that a reader would run is not restored`(object: String) async throws {
        let folder = try TemporaryFolder()
        #expect(await (try ServerProcess.start(in: folder)).terminate() == 0)
        let backup = try DatabaseQueue(path: folder.path("push.sqlite"))
        try await backup.write { try $0.execute(sql: "CREATE \(object)") }
        try backup.close()
        let ended = try await ChildProcess.run(
            "pushctl", ["restore", folder.path("push.sqlite"), "--database", folder.path("new.sqlite")],
            environment: ["PUSHSERVER_IDENTITY_KEY_FILE": folder.path("identity.key")])
        #expect(ended.exitCode == 78 && ended.error.contains(" v, and no database of pushserver has one"), "\(ended.error)")
        let files = try FileManager.default.contentsOfDirectory(atPath: folder.path(""))
        #expect(!files.contains { $0.hasPrefix("new.sqlite") }, "\(files)")
    }

    @Test(arguments: [
        ["audit"], ["registrations"], ["dead-tokens"], ["backup", "copy"],
        ["forget", "--owner", "0279be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798"],
    ])
    func `a file that is not a server's database is a configuration error that names the file`(command: [String]) async throws {
        let folder = try TemporaryFolder()
        try folder.write("These are words and not a database, and there are more of them than there are bytes in a header.", to: "text")
        try folder.write("", to: "empty")
        let foreign = try DatabaseQueue(path: folder.path("foreign"))
        try await foreign.write { try $0.execute(sql: "CREATE TABLE message (id INTEGER)") }
        try foreign.close()
        let arguments = command.map { $0 == "copy" ? folder.path("copy") : $0 }
        for name in ["text", "empty", "foreign", "missing", "no/such/folder"] {
            let ended = try await ChildProcess.run("pushctl", arguments + ["--database", folder.path(name)])
            #expect(ended.exitCode == 78 && ended.output.isEmpty, "\(name): \(ended.error)")
            #expect(ended.error.contains(folder.path(name)) && ended.error.contains("--database"))
            // A failed command leaves no new files.
            #expect(!FileManager.default.fileExists(atPath: folder.path("missing")))
            #expect(!FileManager.default.fileExists(atPath: folder.path("copy")))
        }
        // The environment names the database too.
        let ended = try await ChildProcess.run("pushctl", arguments, environment: ["PUSHSERVER_STORAGE_PATH": folder.path("text")])
        #expect(ended.exitCode == 78 && ended.error.contains(folder.path("text")))
    }

    @Test func `commands that only read do not change the database`() async throws {
        try await withServerWorld { world async throws in
            try await world.loseDevice()
            let database = world.database.location
            func look() async throws {
                for command in [
                    ["audit"], ["registrations"], ["dead-tokens"], ["registrations", "--owner", world.alice.keyHash.description],
                ] {
                    #expect(try await ChildProcess.run("pushctl", command + ["--database", database]).exitCode == 0)
                }
            }
            // While the server runs, the commands leave the WAL unchanged, and the server continues. First wait until replies have their
            // publication marks.
            try await world.database.waitUntilFinished()
            // A stopped server makes no periodic writes.
            await world.server.stop()
            let log = try Data(contentsOf: URL(filePath: database + "-wal"))
            try await look()
            #expect(try Data(contentsOf: URL(filePath: database + "-wal")) == log)
            world.server.signal(SIGCONT)
            #expect(try await world.register(world.alice, version: 2) == nil)
            #expect(await world.server.terminate() == 0)
            let file = try Data(contentsOf: URL(filePath: database))
            try await look()
            #expect(try Data(contentsOf: URL(filePath: database)) == file)
        }
    }

    private struct AuditOutput: Decodable {
        struct Line: Decodable {
            var name: String
            var expected: Int64
            var found: Int64
            var balances: Bool
        }

        var lines: [Line]
    }

    private struct Restored: Decodable {
        var registrations: Int
        var uncertainPushes: Int
        var expiredPushes: Int
    }

    private struct Summary: Decodable {
        var version: String
        var isRegistered: Bool
    }

    private struct DeadToken: Decodable {
        var id: Int64
        var diedAt: String
        var reason: String
        var route: String
        var keyHash: String
        var version: String
    }
}

extension ChildProcess.Ended {
    func decoded<Value: Decodable>(as type: Value.Type) throws -> Value {
        try JSONDecoder().decode(type, from: Data(output.utf8))
    }
}

extension FileManager {
    /// Returns the user id of a file's owner, and the file's permissions.
    fileprivate func ownerAndMode(of path: String) throws -> [Int?] {
        let attributes = try attributesOfItem(atPath: path)
        return [attributes[.ownerAccountID] as? Int, attributes[.posixPermissions] as? Int]
    }
}
