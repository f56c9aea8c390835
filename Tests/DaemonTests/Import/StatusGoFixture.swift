import Bytes
import Envelope
import Foundation
import GRDB
import StatusCrypto
import TestSupport
import Wire

/// A status-go server's database, as STATUS_GO_DATABASE.md describes it.
struct StatusGoFixture {
    /// Evidence of the server's key.
    enum Evidence {
        case bundle(PublicKey)
        case contactCode(PublicKey, table: String = "wakuv2_keys")
        case storedKey(PrivateKey)
    }

    let path: String
    private let queue: DatabaseQueue

    /// - Parameter hasRequests: Whether the table of handled requests exists, as it does since 0.59.
    init(at path: String, hasRequests: Bool = true) throws {
        self.path = path
        queue = try DatabaseQueue(path: path)
        try queue.writeWithoutTransaction { database in
            try database.execute(sql: "PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0;")
        }
        try queue.write { database in
            try database.execute(sql: Self.tables)
            if hasRequests {
                try database.execute(sql: "CREATE TABLE push_notification_server_notifications (id BLOB NOT NULL PRIMARY KEY)")
            }
        }
    }

    func add(_ evidence: Evidence) throws {
        try queue.write { database in
            switch evidence {
            case .bundle(let key):
                try database.execute(
                    sql: "INSERT INTO bundles VALUES (?, 'installation', ?, x'00', 1)",
                    arguments: [Data(key.compressed.bytes), Data([UInt8](repeating: 7, count: 32))])
                // The other bundle belongs to a contact.
                let other = ProtocolClient(server: key).key.publicKey
                try database.execute(
                    sql: "INSERT INTO bundles VALUES (?, 'other', NULL, x'00', 1)", arguments: [Data(other.compressed.bytes)])
            case .contactCode(let key, let table):
                try database.execute(sql: "INSERT INTO \(table) VALUES (?, x'00')", arguments: [TopicName.contactCode(key).text])
            case .storedKey(let key):
                let secret = key.withExposedBytes { Data([UInt8](copying: $0)) }
                try database.execute(sql: "INSERT INTO push_notification_server_identity VALUES (?, 0)", arguments: [secret])
            }
        }
    }

    /// Adds a row; a registration of nil is a tombstone.
    func add(_ client: ProtocolClient, _ installationID: String, version: Int64, _ registration: [UInt8]?) throws {
        try add(keyHash: client.keyHash.bytes, installationID, version: version, registration)
    }

    func add(keyHash: [UInt8], _ installationID: String, version: Int64, _ registration: [UInt8]?) throws {
        try queue.write { database in
            try database.execute(
                sql: "INSERT INTO push_notification_server_registrations VALUES (?, ?, ?, ?)",
                arguments: [Data(keyHash), installationID, version, registration.map { Data($0) }])
        }
    }

    /// Adds a registration as its client sent it.
    func add(_ client: ProtocolClient, _ registration: PushNotificationRegistration) throws {
        try add(client, registration.installationID, version: Int64(registration.version), registration.encoded())
    }

    func addHandled(_ statusMessageIDs: [Digest32]) throws {
        try queue.write { database in
            for id in statusMessageIDs {
                try database.execute(sql: "INSERT INTO push_notification_server_notifications VALUES (?)", arguments: [Data(id.bytes)])
            }
        }
    }

    /// Adds anonymous clients' tombstones.
    func addTombstones(_ count: Int) throws {
        try queue.write { database in
            try database.execute(
                sql: """
                    WITH RECURSIVE number (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number WHERE n < ?)
                    INSERT INTO push_notification_server_registrations
                    SELECT randomblob(64), 'c6ae4fde-bb65-11ea-b3de-0242ac130004', n, NULL FROM number
                    """, arguments: [count])
        }
    }

    /// Copies all rows from the WAL into the file.
    func checkpoint() throws {
        _ = try queue.writeWithoutTransaction { try $0.checkpoint(.truncate) }
    }

    /// Copies the files while the database is open, like those of a killed server.
    func copy(to path: String, withLog: Bool = true) throws {
        for suffix in withLog ? ["", "-wal"] : [""] { try FileManager.default.copyItem(atPath: self.path + suffix, toPath: path + suffix) }
    }

    func close() throws { try queue.close() }

    private static let tables = """
        CREATE TABLE push_notification_server_registrations (
            public_key BLOB NOT NULL, installation_id VARCHAR NOT NULL, version INT NOT NULL, registration BLOB,
            UNIQUE (public_key, installation_id) ON CONFLICT REPLACE);
        CREATE TABLE push_notification_server_identity (private_key BLOB NOT NULL, synthetic_id INT NOT NULL DEFAULT 0,
            UNIQUE (synthetic_id));
        CREATE TABLE bundles (identity BLOB NOT NULL, installation_id TEXT NOT NULL, private_key BLOB, signed_pre_key BLOB NOT NULL,
            timestamp UNSIGNED BIG INT NOT NULL, UNIQUE (identity, installation_id, signed_pre_key));
        CREATE TABLE wakuv2_keys (chat_id TEXT PRIMARY KEY ON CONFLICT IGNORE, key BLOB NOT NULL) WITHOUT ROWID;
        CREATE TABLE waku_keys (chat_id TEXT PRIMARY KEY ON CONFLICT IGNORE, key BLOB NOT NULL) WITHOUT ROWID;
        """
}

/// A folder for the import of a server's database, with the other server's key.
struct ImportWorld {
    let folder: TemporaryFolder
    let key: PrivateKey

    init() throws {
        folder = try TemporaryFolder()
        var random = SecureRandom()
        key = .generate(using: &random)
        try folder.write(Hex.encode(key.withExposedBytes { [UInt8](copying: $0) }) + "\n", to: "node.key")
        try folder.write("identity: { keyFile: identity.key }\nstorage: { path: push.sqlite }\n", to: "server.yaml")
    }

    var server: PublicKey { key.publicKey }
    var database: ServerDatabase { ServerDatabase(path: folder.path("push.sqlite")) }

    /// Returns a new database of the other server, with its key.
    func fixture(named name: String = "other.db", hasRequests: Bool = true) throws -> StatusGoFixture {
        let fixture = try StatusGoFixture(at: folder.path(name), hasRequests: hasRequests)
        try fixture.add(.bundle(server))
        return fixture
    }

    func arguments(_ source: String, keyFile: String = "node.key") -> [String] {
        [
            "import", "status-go", folder.path(source), "--key-file", folder.path(keyFile), "--config", folder.path("server.yaml"),
            "--json",
        ]
    }

    func runImport(_ source: String = "other.db", keyFile: String = "node.key") async throws -> ChildProcess.Ended {
        try await ChildProcess.run("pushctl", arguments(source, keyFile: keyFile), environment: [:])
    }

    /// Returns the name that a status-go server gives the database of a key: the start of the key in the form of a UUID.
    ///
    /// - Parameter ending: The end of the name: statusd's, or `-app.db` of push-notification-server.
    static func fileName(of key: PublicKey, ending: String = ".db") -> String {
        var name = Hex.encode(Array(key.compressed.bytes.prefix(16)))
        for place in [8, 13, 18, 23] { name.insert("-", at: name.index(name.startIndex, offsetBy: place)) }
        return name + ending
    }

    /// Returns the names of the files next to the server's database.
    func files() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: folder.path("")).filter { $0.hasPrefix("push.sqlite") || $0 == "identity.key" }
            .sorted()
    }
}

/// The output of `pushctl import status-go --json`.
struct ImportOutput: Decodable {
    struct Count: Decodable, Equatable {
        var reason: String
        var count: Int
    }

    var registrations: Int
    var exceptions: [Count]
    var unregistered: Int
    var tombstones: [Count]
    var skipped: [Count]
    var requests: Int
    var skippedRequests: Int
    var hasInstalledKey: Bool
}

extension ImportOutput {
    init(_ ended: ChildProcess.Ended) throws {
        self = try JSONDecoder().decode(Self.self, from: Data(ended.output.utf8))
    }
}
