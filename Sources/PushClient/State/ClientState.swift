import FoundationEssentials
import GRDB
import Glibc

/// What clients remember from one start to the next, in an SQLite file: what each server knows, the version counter, and the devices of
/// others.
///
/// One file serves any number of clients of one program, whatever their keys. It holds access tokens, so it is made for the eyes of its
/// owner only. What a call has returned from is on the disk.
public final class ClientState: Sendable {
    private let database: DatabaseQueue

    /// Opens the file, which is made if it is not there. Blocks on the disk.
    ///
    /// - Throws: ``PushClientError/stateUnusable(reason:)``, also for a file of another program or of a later version of this one.
    public init(path: String) throws(PushClientError) {
        try Self.makePrivateFile(path)
        database = try Self.attempt {
            var configuration = Configuration()
            configuration.label = "PushClient"
            // `pushctl` may be at it.
            configuration.busyMode = .timeout(5)
            return try DatabaseQueue(path: path, configuration: configuration)
        }
        try prepare()
    }

    private init(_ database: DatabaseQueue) throws(PushClientError) {
        self.database = database
        try prepare()
    }

    /// A state that is gone with the program: for tools and tests. A registering client has to start from a higher version than it ever
    /// used; it does, unless the clock was set back.
    public static func inMemory() throws(PushClientError) -> ClientState {
        try ClientState(try attempt { try DatabaseQueue() })
    }

    private func prepare() throws(PushClientError) {
        try Self.attempt {
            guard try !database.read({ try Self.migrator.hasBeenSuperseded($0) }) else { throw Unusable.newerVersion }
            try Self.migrator.migrate(database)
        }
    }

    /// SQLite would give it the usual mode.
    private static func makePrivateFile(_ path: String) throws(PushClientError) {
        let descriptor = unsafe Glibc.open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw .stateUnusable(reason: unsafe String(cString: strerror(errno))) }
        close(descriptor)
    }

    private enum Unusable: Error {
        case newerVersion
    }

    /// Tells only the code of a database's error: its text may quote a statement.
    private static func attempt<Result>(_ body: () throws -> Result) throws(PushClientError) -> Result {
        do {
            return try body()
        } catch {
            throw unusable(error)
        }
    }

    private static func unusable(_ error: any Error) -> PushClientError {
        switch error {
        case Unusable.newerVersion: .stateUnusable(reason: "it was written by a later version of this program")
        case let error as DatabaseError where error.resultCode == .SQLITE_NOTADB: .stateUnusable(reason: "it is of another kind")
        case let error as DatabaseError: .stateUnusable(reason: "SQLite error \(error.extendedResultCode.rawValue)")
        case is DecodingError: .stateUnusable(reason: "it holds what this program did not write")
        default: .stateUnusable(reason: "it cannot be read or written")
        }
    }

    /// A row is a value of ours, whole: nothing inside it is ever searched for. Never edited once released.
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
    /// - Parameter installationID: nil for the one that was new last.
    func plan(of identity: IdentityKey, installationID: String?) async throws(PushClientError) -> RegistrationPlan? {
        try await value(
            "SELECT plan FROM registration_plan WHERE identity = ? AND installation = ifnull(?, installation) ORDER BY rowid DESC LIMIT 1",
            [identity.compressedHex, installationID])
    }

    /// The newer of two saves that overtake each other stays.
    package func save(_ plan: RegistrationPlan, of identity: IdentityKey) async throws(PushClientError) {
        try await write(
            """
            INSERT INTO registration_plan VALUES (?, ?, ?, ?)
            ON CONFLICT DO UPDATE SET revision = excluded.revision, plan = excluded.plan WHERE excluded.revision > revision
            """, [identity.compressedHex, plan.installationID, plan.revision, try json(plan)])
    }

    /// - Parameter contact: who may use the tokens.
    func devices(of person: IdentityKey, for contact: IdentityKey?) async throws(PushClientError) -> KnownDevices? {
        try await value(
            "SELECT devices FROM known_devices WHERE contact = ? AND person = ?", [contact?.compressedHex ?? "", person.compressedHex])
    }

    func save(_ devices: KnownDevices, of person: IdentityKey, for contact: IdentityKey?) async throws(PushClientError) {
        try await write(
            "INSERT INTO known_devices VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET devices = excluded.devices",
            [contact?.compressedHex ?? "", person.compressedHex, try json(devices)])
    }

    private func value<Value: Decodable & Sendable>(
        _ sql: String, _ arguments: StatementArguments
    ) async throws(PushClientError) -> Value? {
        do {
            return try await database.read { database in
                guard let text = try String.fetchOne(database, sql: sql, arguments: arguments) else { return nil }
                return try JSONDecoder().decode(Value.self, from: Data(text.utf8))
            }
        } catch {
            throw Self.unusable(error)
        }
    }

    private func write(_ sql: String, _ values: StatementArguments) async throws(PushClientError) {
        do {
            try await database.write { try $0.execute(sql: sql, arguments: values) }
        } catch {
            throw Self.unusable(error)
        }
    }

    private func json(_ value: some Encodable) throws(PushClientError) -> String {
        try Self.attempt { String(decoding: try JSONEncoder().encode(value), as: UTF8.self) }
    }
}
