import Bytes
import Foundation
import GRDB
import StatusCrypto
import TestSupport
import Testing
import Wire

/// `pushctl import status-go` as operators use it: the imported rows, and the reasons to stop.
@Suite(.fewAtATime)
struct ImportCommandTests {
    @Test func `rows are imported, kept as tombstones or skipped, by reason, and the source stays unchanged`() async throws {
        let world = try ImportWorld()
        let fixture = try world.fixture()
        func client() -> ProtocolClient { ProtocolClient(server: world.server) }
        func add(_ change: (inout PushNotificationRegistration) -> Void) throws {
            let client = client()
            var registration = client.registration()
            change(&registration)
            try fixture.add(client, registration)
        }
        let owner = client()
        try fixture.add(owner, owner.registration(installationID: "C6AE4FDEBB6511EAB3DE0242AC130004"))
        try fixture.add(owner, "urn:uuid:c6ae4fde-bb65-11ea-b3de-0242ac130004", version: .max, nil)
        var old = PushNotificationRegistration()
        old.installationID = "of-release-0.56"
        old.version = 3
        try fixture.add(owner, old)
        let unknownField = owner.registration(installationID: "of-tomorrow").encoded() + [0xF8, 0x07, 1]
        try fixture.add(owner, "of-tomorrow", version: 1, unknownField)
        try add { $0.version = UInt64(Int64.max) }
        try add { $0.accessToken = "(b6ae4fde-bb65-11ea-b3de-0242ac130004)" }
        try add { $0.apnTopic = "" }
        try add { $0.deviceToken = "not hex" }
        try add { $0.tokenType = TokenType(rawValue: 99) }
        try add {
            $0.tokenType = .firebase
            $0.deviceToken = DeviceToken(String(repeating: "f", count: 5_000))
        }
        try fixture.add(client(), "damaged", version: 9, [0xFF])
        try fixture.add(keyHash: [1, 2], "short", version: 1, nil)
        try fixture.checkpoint()
        // The newest rows are only in the WAL.
        try add { $0.enabled = false }
        try fixture.addHandled([Digest32(repeating: 1), Digest32(repeating: 2)])
        try fixture.copy(to: world.folder.path("copy.db"))
        try fixture.close()
        let before = try ["copy.db", "copy.db-wal"].map { try Data(contentsOf: world.folder.url.appending(path: $0)) }

        try FileManager.default.createSymbolicLink(atPath: world.folder.path("link.db"), withDestinationPath: "copy.db")

        let ended = try await world.runImport("link.db")
        #expect(ended.exitCode == 0 && ended.error.isEmpty, "\(ended.error)")
        let output = try ImportOutput(ended)
        #expect(output.registrations == 5 && output.unregistered == 2 && output.requests == 2 && output.skippedRequests == 0)
        #expect(output.exceptions == [.init(reason: "accessToken", count: 1)])
        #expect(
            output.tombstones == [
                .init(reason: "unreadable", count: 1), .init(reason: "deviceToken", count: 2), .init(reason: "tokenType", count: 1),
                .init(reason: "bundleID", count: 1),
            ])
        #expect(output.skipped == [.init(reason: "keyHash", count: 1)] && output.hasInstalledKey)

        #expect(try ["copy.db", "copy.db-wal"].map { try Data(contentsOf: world.folder.url.appending(path: $0)) } == before)
        #expect(!FileManager.default.fileExists(atPath: world.folder.path("copy.db-shm")))
        #expect(try world.files() == ["identity.key", "push.sqlite"])
        for name in try world.files() {
            let mode = try FileManager.default.attributesOfItem(atPath: world.folder.path(name))[.posixPermissions] as? Int
            #expect(mode == 0o600, "\(name)")
        }
        let key = try String(contentsOf: world.folder.url.appending(path: "identity.key"), encoding: .utf8)
        #expect(try key == String(contentsOf: world.folder.url.appending(path: "node.key"), encoding: .utf8))
        let database = world.database
        #expect(try database.count("registration WHERE is_live = 1 AND delivered_at IS NOT NULL") == 5)
        #expect(try database.count("registration WHERE is_live = 0 AND was_registered = 1") == 7)
        #expect(try database.count("registration WHERE version = \(Int64.max)") == 2)
        #expect(try database.count("registration WHERE enabled = 0") == 1)
        #expect(try database.text("PRAGMA integrity_check") == "ok")
        let audit = try await ChildProcess.run("pushctl", ["audit", "--database", database.location])
        #expect(audit.exitCode == 0, "\(audit.output)")

        let again = try await world.runImport("copy.db")
        #expect(again.exitCode == 78 && again.error.contains("already exists. Stop the server, move"), "\(again.error)")
    }

    @Test func `the report names each reason, and no token`() async throws {
        let world = try ImportWorld()
        let fixture = try world.fixture(hasRequests: false)
        let client = ProtocolClient(server: world.server)
        try fixture.add(client, client.registration())
        var registration = client.registration(installationID: "another")
        registration.tokenType = TokenType(rawValue: 99)
        try fixture.add(client, registration)
        try fixture.close()
        let ended = try await ChildProcess.run("pushctl", world.arguments("other.db").dropLast(), environment: [:])
        #expect(ended.exitCode == 0, "\(ended.error)")
        #expect(
            ended.output == """
                imported \(world.database.location): 1 registrations, 0 tombstones
                handled requests: 0, skipped: 0
                kept as a tombstone, token type that is neither APN nor FIREBASE: 1
                installed the key in \(world.folder.path("identity.key"))
                """)
    }

    @Test func `the newest handled requests are imported`() async throws {
        let world = try ImportWorld()
        let fixture = try world.fixture()
        let client = ProtocolClient(server: world.server)
        try fixture.add(client, client.registration())
        let count = 300_000
        let queue = try DatabaseQueue(path: fixture.path)
        try await queue.write { database in
            try database.execute(
                sql: """
                    WITH RECURSIVE number (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number WHERE n < ?)
                    INSERT INTO push_notification_server_notifications SELECT CAST(printf('%032d', n) AS BLOB) FROM number
                    """, arguments: [count + 7])
        }
        try queue.close()
        try fixture.close()
        let output = try ImportOutput(await world.runImport())
        #expect(output.requests == count && output.skippedRequests == 7)
        let oldest = try world.database.text("SELECT CAST(status_message_id AS TEXT) FROM message ORDER BY id LIMIT 1")
        #expect(Int(oldest) == 8)
        #expect(try world.database.count("message") == count)
    }

    // MARK: Key

    @Test func `a key that is not the server's stops the import`() async throws {
        let evidence: [(String, (PrivateKey) -> StatusGoFixture.Evidence)] = [
            ("bundles.identity", { .bundle($0.publicKey) }), ("chat_id", { .contactCode($0.publicKey) }),
            ("chat_id", { .contactCode($0.publicKey, table: "waku_keys") }), ("push_notification_server_identity", { .storedKey($0) }),
        ]
        for (place, make) in evidence {
            let world = try ImportWorld()
            let client = ProtocolClient(server: world.server)
            for (name, key) in [("right.db", world.key), ("wrong.db", client.key)] {
                let fixture = try StatusGoFixture(at: world.folder.path(name))
                try fixture.add(client, client.registration())
                try fixture.add(make(key))
                try fixture.close()
            }
            let wrong = try await world.runImport("wrong.db")
            #expect(
                wrong.exitCode == 78 && wrong.error.contains(place) && wrong.error.contains("is not that of the server"), "\(wrong.error)")
            #expect(try world.files() == [], "a refused import leaves nothing behind")
            let right = try await world.runImport("right.db")
            #expect(right.exitCode == 0, "\(right.error)")
        }
    }

    /// - Parameter ending: The end of the file's name: that of statusd, or of push-notification-server.
    @Test(arguments: [".db", "-app.db"])
    func `a status-go server's file is named after its key, and a database without any evidence is refused`(ending: String) async throws {
        let world = try ImportWorld()
        let client = ProtocolClient(server: world.server)
        func name(of key: PublicKey) -> String { ImportWorld.fileName(of: key, ending: ending) }
        for name in ["unnamed.db", name(of: world.server), name(of: client.key.publicKey)] {
            let fixture = try StatusGoFixture(at: world.folder.path(name))
            try fixture.add(client, client.registration())
            try fixture.close()
        }
        let unnamed = try await world.runImport("unnamed.db")
        #expect(unnamed.exitCode == 78 && unnamed.error.contains("does not say whose database it is"), "\(unnamed.error)")
        #expect(unnamed.error.contains(name(of: world.server)))
        let wrong = try await world.runImport(name(of: client.key.publicKey))
        #expect(wrong.exitCode == 78 && wrong.error.contains("the name of the file"), "\(wrong.error)")
        let right = try await world.runImport(name(of: world.server))
        #expect(right.exitCode == 0, "\(right.error)")
    }

    @Test func `the server's own key file stays: the same key is used, another one stops the import`() async throws {
        let world = try ImportWorld()
        let fixture = try world.fixture()
        let client = ProtocolClient(server: world.server)
        try fixture.add(client, client.registration())
        try fixture.close()
        try world.folder.write(String(repeating: "7", count: 64), to: "identity.key")
        let other = try await world.runImport()
        #expect(other.exitCode == 78 && other.error.contains("holds another key"), "\(other.error)")
        #expect(try world.files() == ["identity.key"])
        let key = "0x" + Hex.encode(world.key.withExposedBytes { [UInt8](copying: $0) })
        try world.folder.write(key, to: "identity.key")
        let same = try await world.runImport()
        #expect(try ImportOutput(same).hasInstalledKey == false, "\(same.error)")
        #expect(try String(contentsOf: world.folder.url.appending(path: "identity.key"), encoding: .utf8) == key)

        let missing = try await world.runImport(keyFile: "none.key")
        #expect(missing.exitCode == 78 && missing.error.contains("There is no key file"), "\(missing.error)")
        try world.folder.write(key, to: "open.key", mode: 0o644)
        let open = try await world.runImport(keyFile: "open.key")
        #expect(open.exitCode == 78 && open.error.contains("chmod 600"), "\(open.error)")
    }

    // MARK: Source

    @Test func `an encrypted file is refused with the commands that decrypt it`() async throws {
        let world = try ImportWorld()
        var random = SecureRandom()
        try Data(random.bytes(16_384)).write(to: world.folder.url.appending(path: "app.db"))
        let ended = try await world.runImport("app.db")
        #expect(ended.exitCode == 78 && ended.error.contains("sqlcipher_export('plain')"), "\(ended.error)")
        #expect(try world.files().isEmpty)
    }

    @Test(arguments: [
        // A view in place of the table, a value of 4 MiB from a generated column, and one of 3 MiB that is stored.
        "CREATE VIEW push_notification_server_registrations AS SELECT 1 AS public_key",
        """
        CREATE TABLE push_notification_server_registrations (
            public_key BLOB, installation_id TEXT, version INTEGER, registration BLOB AS (zeroblob(4 << 20)));
        INSERT INTO push_notification_server_registrations VALUES (x'01', 'a', 1);
        """,
        """
        CREATE TABLE push_notification_server_registrations (
            public_key BLOB, installation_id TEXT, version INTEGER, registration BLOB);
        INSERT INTO push_notification_server_registrations VALUES (zeroblob(64), 'a', 1, zeroblob(3 << 20));
        """,
    ])
    func `a hostile file is refused, and nothing is left behind`(schema: String) async throws {
        let world = try ImportWorld()
        let name = ImportWorld.fileName(of: world.server)
        let queue = try DatabaseQueue(path: world.folder.path(name))
        try await queue.write { try $0.execute(sql: schema) }
        try queue.close()
        let ended = try await world.runImport(name)
        #expect([1, 78].contains(ended.exitCode) && !ended.error.isEmpty, "\(ended.error)")
        #expect(try FileManager.default.contentsOfDirectory(atPath: world.folder.path("")).count { $0.contains("push.sqlite") } == 0)
        #expect(try !world.files().contains("identity.key"))
        #expect(!FileManager.default.fileExists(atPath: world.folder.path("sealing.key")))
    }

    @Test func `databases without a server's rows are refused`() async throws {
        let world = try ImportWorld()
        try world.fixture(named: "app.db").close()
        let app = try await world.runImport("app.db")
        #expect(app.exitCode == 78 && app.error.contains("holds no registrations"), "\(app.error)")
        let other = try DatabaseQueue(path: world.folder.path("notes.db"))
        try await other.write { try $0.execute(sql: "CREATE TABLE note (text TEXT)") }
        try other.close()
        let notes = try await world.runImport("notes.db")
        #expect(notes.exitCode == 78 && notes.error.contains("no database of status-go"), "\(notes.error)")
        try world.folder.write("", to: "empty.db")
        let empty = try await world.runImport("empty.db")
        #expect(empty.exitCode == 78 && empty.error.contains("is empty"), "\(empty.error)")
        let missing = try await world.runImport("none.db")
        #expect(missing.exitCode == 78 && missing.error.contains("none.db does not exist"), "\(missing.error)")
    }

    @Test func `a damaged file stops the import, and the server has no database`() async throws {
        let world = try ImportWorld()
        let fixture = try world.fixture()
        for _ in 1...300 {
            let client = ProtocolClient(server: world.server)
            try fixture.add(client, client.registration())
        }
        try fixture.checkpoint()
        try fixture.close()
        let file = try FileHandle(forUpdating: world.folder.url.appending(path: "other.db"))
        try file.truncate(atOffset: 8 * 4_096)
        try file.close()
        let ended = try await world.runImport()
        #expect(ended.exitCode == 1 && ended.error.contains("other.db cannot be read"), "\(ended.error)")
        #expect(try world.files() == [])
    }

    @Test func `no server may run on the source or on the database`() async throws {
        let world = try ImportWorld()
        let fixture = try world.fixture()
        let client = ProtocolClient(server: world.server)
        try fixture.add(client, client.registration())
        try fixture.close()
        let folder = try TemporaryFolder()
        let server = try await ServerProcess.start(in: folder)
        try FileManager.default.createSymbolicLink(atPath: world.folder.path("running.db"), withDestinationPath: folder.path("push.sqlite"))
        let source = try await world.runImport("running.db")
        #expect(
            source.exitCode == 78 && source.error.contains("process \(server.processIdentifier) has the database open"), "\(source.error)")
        try folder.write("storage: { path: push.sqlite }\nidentity: { keyFile: none.key }\n", to: "running.yaml")
        let target = try await ChildProcess.run(
            "pushctl",
            [
                "import", "status-go", world.folder.path("other.db"), "--key-file", world.folder.path("node.key"), "--config",
                folder.path("running.yaml"),
            ])
        #expect(target.exitCode == 78 && target.error.contains("already exists"), "\(target.error)")
        #expect(await server.terminate() == 0)
    }

    /// The folder of a service with `DynamicUser` is in a folder that only root may enter.
    @Test(.enabled(if: geteuid() == 0), arguments: [0o755, 0o700])
    func `a database that root imports belongs to the owner of the server's folder`(above: Int) async throws {
        let (world, outer) = (try ImportWorld(), try TemporaryFolder())
        let fixture = try world.fixture()
        let client = ProtocolClient(server: world.server)
        try fixture.add(client, client.registration())
        try fixture.copy(to: world.folder.path("copy.db"))
        try fixture.close()
        let files = FileManager.default
        try files.setAttributes([.posixPermissions: above], ofItemAtPath: outer.path(""))
        try files.createDirectory(atPath: outer.path("state"), withIntermediateDirectories: false)
        let nobody = 65_534
        try files.setAttributes([.ownerAccountID: nobody, .groupOwnerAccountID: nobody], ofItemAtPath: outer.path("state"))
        let ended = try await ChildProcess.run(
            "pushctl",
            [
                "import", "status-go", world.folder.path("copy.db"), "--key-file", world.folder.path("node.key"), "--database",
                outer.path("state/push.sqlite"),
            ], environment: ["PUSHSERVER_IDENTITY_KEY_FILE": outer.path("state/identity.key")])
        #expect(ended.exitCode == 0, "\(ended.error)")
        #expect(try files.contentsOfDirectory(atPath: outer.path("state")).sorted() == ["identity.key", "push.sqlite", "sealing.key"])
        for name in ["identity.key", "push.sqlite", "sealing.key"] {
            let attributes = try files.attributesOfItem(atPath: outer.path("state/\(name)"))
            #expect(attributes[.ownerAccountID] as? Int == nobody && attributes[.posixPermissions] as? Int == 0o600, "\(name)")
        }
    }
}
