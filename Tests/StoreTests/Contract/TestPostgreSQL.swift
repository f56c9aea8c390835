import Bytes
import Foundation
import Logging
import PushProtocol
import ServerCrypto
import StatusCrypto
import TestSupport

@testable import PostgreSQLStore

/// The PostgreSQL server for tests.
struct TestPostgreSQL {
    /// The folder of the server's Unix socket.
    private let folder: String

    init() throws(NoPostgreSQL) {
        guard let folder = ProcessInfo.processInfo.environment["TEST_POSTGRESQL"] else { throw NoPostgreSQL() }
        self.folder = folder
    }

    /// Returns the parameters of a connection to a database.
    func parameters(_ database: String) -> [String: String] {
        ["host": folder, "user": "postgres", "dbname": database]
    }

    /// A function that replaces PostgreSQL's own, because the search path names its schema first.
    static let stillClock = "CREATE FUNCTION now() RETURNS timestamptz LANGUAGE sql STABLE AS $$ SELECT timestamptz '2026-01-01' $$"

    /// Runs a statement outside a transaction.
    @discardableResult
    func run(_ sql: String, in database: String = "postgres") throws(PostgreSQLError) -> Rows {
        try Connection(parameters(database)).run([Command(sql)])[0]
    }
}

struct NoPostgreSQL: Error, CustomStringConvertible {
    let description = """
        This test needs PostgreSQL, and TEST_POSTGRESQL is not set. Scripts/test starts a server of its own. By hand: \
        export $(Scripts/postgresql start "$(mktemp -d)")
        """
}

extension TemporaryFolder {
    /// The name of the database that belongs to the folder.
    var databaseName: String { url.lastPathComponent }

    /// Opens the database that belongs to the folder. The first call creates it; it is removed with the folder.
    ///
    /// - Parameter clock: The clock of the server's lease. With one, the clock of the database stands still, so that leases end only when a
    ///   test ends them.
    func openPostgreSQL(
        identity: FixedBytes<33> = identity, sealingKeys: SealingKeys? = StoreTests.sealingKeys(1), serverName: String = "one",
        serverPart: String = "",
        clock: ManualClock? = nil, maximumQueueCount: Int = ProtocolLimits.maximumQueuedPushCount, maximumStoredByteCount: Int? = nil,
        namedBundleIDs: Set<String> = []
    ) throws -> PostgreSQLStore {
        try PostgreSQLStore(
            newPostgreSQL(hasStillClock: clock != nil), identity: identity, sealingKeys: sealingKeys, serverName: serverName,
            serverPart: serverPart, random: SplitMix64(seed: 1),
            maximumQueueCount: maximumQueueCount, maximumStoredByteCount: maximumStoredByteCount, namedBundleIDs: namedBundleIDs,
            clock: clock ?? ContinuousClock(), logger: quietLogger)
    }

    /// Creates the database that belongs to the folder, unless it exists. The database is removed with the folder.
    ///
    /// - Returns: The parameters of a connection.
    func newPostgreSQL(hasStillClock: Bool = false) throws -> [String: String] {
        let server = try TestPostgreSQL()
        let name = databaseName
        do {
            try server.run("CREATE DATABASE \"\(name)\"")
            atEnd { _ = try? server.run("DROP DATABASE \"\(name)\" WITH (FORCE)") }
            if hasStillClock { try server.run(TestPostgreSQL.stillClock, in: name) }
        } catch {
            guard error == .failed(state: "42P04") else { throw error }  // The database exists.
        }
        var parameters = server.parameters(name)
        if hasStillClock { parameters["options"] = "-c search_path=public,pg_catalog" }
        return parameters
    }
}
