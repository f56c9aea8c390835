import Bytes
package import Store

/// The lock of an operator's command that copies or changes a database: while the command holds it, no server joins and no other such
/// command starts.
///
/// It is the lock of a table, which only the owner of the tables can take. PostgreSQL releases it when the connection ends, so a killed
/// command leaves no lock.
package final class OperatorLock {
    private let connection: Connection

    /// Locks a database.
    ///
    /// It blocks its thread, so call it at the start of a program and not from a task.
    ///
    /// - Parameter parameters: Keywords of libpq and their values.
    /// - Throws: `StoreError.locked` if another command holds the lock, or a server joins at this moment.
    package init(_ parameters: [String: String]) throws(StoreError) {
        do {
            try Self.createTable(ConnectionSlot(parameters))
            connection = try Connection(parameters)
            try Self.lock(connection)
        } catch {
            throw StoreError(error)
        }
    }

    private static func lock(_ connection: Connection) throws {
        // The transaction lasts as long as the command. Nothing else runs in it.
        _ = try connection.run([Command("SET idle_in_transaction_session_timeout = 0"), Command("BEGIN")])
        do {
            _ = try connection.run([limit, Command("LOCK TABLE operator_lock IN EXCLUSIVE MODE")])
        } catch {
            guard error == .failed(state: PostgreSQLError.lockNotAvailable) else { throw error }
            _ = try connection.run([Command("ROLLBACK")])
            throw StoreError.locked(by: try first(of: connection.run([holder])[0]))
        }
    }

    deinit { _ = try? connection.run([Command("ROLLBACK")]) }

    /// Creates the table of the lock if it does not exist.
    static func createTable(_ slot: ConnectionSlot) throws {
        guard try !exists(slot) else { return }
        do {
            try slot.perform(.writing) { $0.add("CREATE TABLE IF NOT EXISTS operator_lock ()") }
        } catch {
            // Another server may have created it at the same time.
            guard try exists(slot) else { throw error }
        }
    }

    private static func exists(_ slot: ConnectionSlot) throws -> Bool {
        try slot.perform(.reading) {
            try $0.count("SELECT count(*) FROM pg_tables WHERE schemaname = current_schema() AND tablename = 'operator_lock'") > 0
        }
    }

    /// Keeps the lock free until the end of the transaction in which a server joins.
    ///
    /// - Throws: `StoreError.locked` if a command holds the lock.
    static func exclude(by transaction: Transaction) throws {
        if let holder = try first(of: transaction.fetch([holder])[0]) { throw StoreError.locked(by: holder) }
        do throws(PostgreSQLError) {
            _ = try transaction.fetch([Command("LOCK TABLE operator_lock IN ROW SHARE MODE NOWAIT")])
        } catch {
            throw error == .failed(state: PostgreSQLError.lockNotAvailable) ? StoreError.locked(by: nil) : StoreError(error)
        }
    }

    /// Lets only one of two servers that start at the same time create the tables, until the end of the transaction.
    static func excludeStarts(by transaction: Transaction) {
        transaction.add("LOCK TABLE operator_lock IN SHARE UPDATE EXCLUSIVE MODE")
    }

    private static func first(of holders: Rows) throws -> String? {
        try holders.map { PeerText(try $0.next(String.self)).description }.first
    }

    /// Longer than PostgreSQL takes to interrupt a vacuum of the table.
    private static let limit = Command("SET LOCAL lock_timeout = '2s'")

    /// The session that holds the lock. PostgreSQL shows the address to sessions of the same role.
    private static let holder = Command(
        """
        SELECT convert_to(concat(
            application_name, ' (process ', pid, ' of PostgreSQL, from ', coalesce(host(client_addr), 'its own machine'),
            ', connected since ', to_char(backend_start AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS'), ' UTC)'), 'UTF8')
        FROM pg_locks JOIN pg_stat_activity USING (pid)
        WHERE relation = to_regclass('operator_lock') AND mode = 'ExclusiveLock' AND granted AND pid <> pg_backend_pid()
            AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
        """)
}
