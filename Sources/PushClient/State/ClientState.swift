import FoundationEssentials
import GRDB
import Glibc

/// The saved state of clients in an SQLite file: the state of each server, the version counter, and known devices of recipients.
///
/// One file serves any number of clients of one program, with any keys. The file contains access tokens, so only its owner may read it. A
/// call returns after its changes are on the disk.
public final class ClientState: Sendable {
    private let database: DatabaseQueue

    /// Opens the file, or creates it. Blocks on the disk.
    ///
    /// - Throws: ``PushClientError/stateUnusable(reason:)``, also for a file of another program or of a later version of this library.
    public init(path: String) throws {
        try Self.makePrivateFile(path)
        database = try Self.attempt {
            var configuration = Configuration()
            configuration.label = "PushClient"
            // `pushctl` may use the file at the same time.
            configuration.busyMode = .timeout(5)
            return try DatabaseQueue(path: path, configuration: configuration)
        }
        try prepare()
    }

    private init(_ database: DatabaseQueue) throws {
        self.database = database
        try prepare()
    }

    /// Returns a state in memory, for tools and tests. A registering client needs a version higher than all earlier ones, which it has
    /// unless the clock was set back.
    public static func inMemory() throws -> ClientState {
        try ClientState(try attempt { try DatabaseQueue() })
    }

    private func prepare() throws {
        try Self.attempt {
            guard try !database.read({ try Self.migrator.hasBeenSuperseded($0) }) else { throw Unusable.newerVersion }
            try Self.migrator.migrate(database)
        }
    }

    /// SQLite would create the file with its default mode.
    private static func makePrivateFile(_ path: String) throws {
        let descriptor = unsafe Glibc.open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw PushClientError.stateUnusable(reason: unsafe String(cString: strerror(errno))) }
        close(descriptor)
    }

    private enum Unusable: Error {
        case newerVersion
    }

    /// Runs an operation and reports only the code of a database error: its text may quote a statement.
    private static func attempt<Result>(_ body: () throws -> Result) throws -> Result {
        do {
            return try body()
        } catch {
            throw failure(error)
        }
    }

    private static func failure(_ error: any Error) -> any Error {
        switch error {
        case is CancellationError: error
        case Unusable.newerVersion: PushClientError.stateUnusable(reason: "it was written by a later version of this program")
        case let error as DatabaseError where error.resultCode == .SQLITE_NOTADB:
            PushClientError.stateUnusable(reason: "it is of another kind")
        case let error as DatabaseError: PushClientError.stateUnusable(reason: "SQLite error \(error.extendedResultCode.rawValue)")
        case is DecodingError: PushClientError.stateUnusable(reason: "it holds what this program did not write")
        default: PushClientError.stateUnusable(reason: "it cannot be read or written")
        }
    }

    /// The migrations, never edited after a release. A row holds an encoded value, which no statement searches.
    private static var migrator: DatabaseMigrator {
        var migrator = DatabaseMigrator()
        migrator.registerMigration("1") { database in
            try database.execute(
                sql: """
                    CREATE TABLE registration_plan (
                        identity TEXT NOT NULL,             -- compressed public key, hex
                        installation TEXT NOT NULL,
                        revision INTEGER NOT NULL,          -- rises with each save
                        plan TEXT NOT NULL,                 -- JSON
                        PRIMARY KEY (identity, installation)
                    ) STRICT;
                    CREATE TABLE known_devices (
                        contact TEXT NOT NULL,              -- whose contact the person is: compressed public key, hex; empty: nobody's
                        person TEXT NOT NULL,               -- compressed public key, hex
                        devices TEXT NOT NULL,              -- JSON
                        PRIMARY KEY (contact, person)
                    ) STRICT;
                    """)
        }
        return migrator
    }
}

// MARK: - Values

extension ClientState {
    /// - Parameter installationID: The installation, or nil for the one created last.
    func plan(of identity: PublicKey, installationID: String?) async throws -> RegistrationPlan? {
        try await value(
            "SELECT plan FROM registration_plan WHERE identity = ? AND installation = ifnull(?, installation) ORDER BY rowid DESC LIMIT 1",
            [identity.compressedHex, installationID])
    }

    /// Saves the plan unless a newer revision is already saved: two saves may overtake each other.
    package func save(_ plan: RegistrationPlan, of identity: PublicKey) async throws {
        try await write(
            """
            INSERT INTO registration_plan VALUES (?, ?, ?, ?)
            ON CONFLICT DO UPDATE SET revision = excluded.revision, plan = excluded.plan WHERE excluded.revision > revision
            """, [identity.compressedHex, plan.installationID, plan.revision, try json(plan)])
    }

    /// - Parameter contact: The key that may use the tokens.
    func devices(of person: PublicKey, for contact: PublicKey?) async throws -> KnownDevices? {
        try await value(
            "SELECT devices FROM known_devices WHERE contact = ? AND person = ?", [contact?.compressedHex ?? "", person.compressedHex])
    }

    func save(_ devices: KnownDevices, of person: PublicKey, for contact: PublicKey?) async throws {
        try await write(
            "INSERT INTO known_devices VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET devices = excluded.devices",
            [contact?.compressedHex ?? "", person.compressedHex, try json(devices)])
    }

    private func value<Value: Decodable & Sendable>(
        _ sql: String, _ arguments: StatementArguments
    ) async throws -> Value? {
        do {
            return try await database.read { database in
                guard let text = try String.fetchOne(database, sql: sql, arguments: arguments) else { return nil }
                return try JSONDecoder().decode(Value.self, from: Data(text.utf8))
            }
        } catch {
            throw Self.failure(error)
        }
    }

    private func write(_ sql: String, _ values: StatementArguments) async throws {
        do {
            try await database.write { try $0.execute(sql: sql, arguments: values) }
        } catch {
            throw Self.failure(error)
        }
    }

    private func json(_ value: some Encodable) throws -> String {
        try Self.attempt { String(decoding: try JSONEncoder().encode(value), as: UTF8.self) }
    }
}
