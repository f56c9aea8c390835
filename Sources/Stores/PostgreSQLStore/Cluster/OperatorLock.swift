package import Store

/// The lock of an operator's command that copies or changes a database: while the command holds it, no server joins and no other such
/// command begins.
///
/// It is an advisory lock of a session. PostgreSQL releases it when the connection ends, so a killed command leaves no lock.
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
            connection = try Connection(parameters)
            let isLocked = try connection.run([Command("SELECT pg_try_advisory_lock(\(Self.key))")])[0].map { try $0.next(Bool.self) }
            guard isLocked == [true] else { throw try Self.error(connection.run([Self.holder])[0]) }
        } catch {
            throw StoreError(error)
        }
    }

    deinit { _ = try? connection.run([Command("SELECT pg_advisory_unlock(\(Self.key))")]) }

    /// Keeps the lock free until the end of the transaction in which a server joins.
    ///
    /// - Throws: `StoreError.locked` if a command holds the lock.
    static func exclude(by transaction: Transaction) throws {
        let isFree = try transaction.first("SELECT pg_try_advisory_xact_lock_shared(\(key))") { try $0.next(Bool.self) }
        guard isFree == true else { throw try error(transaction.fetch([holder])[0]) }
    }

    private static func error(_ holders: Rows) throws -> StoreError {
        .locked(by: try holders.map { try $0.next(String.self) }.first)
    }

    /// The number of the lock: `copy` in ASCII.
    private static let key = 0x636f_7079

    /// The query of the session that holds the lock. PostgreSQL shows the address to sessions of the same role.
    private static let holder = Command(
        """
        SELECT convert_to(concat(
            application_name, ' (process ', pid, ' of PostgreSQL, from ', coalesce(host(client_addr), 'its own machine'),
            ', connected since ', to_char(backend_start AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS'), ' UTC)'), 'UTF8')
        FROM pg_locks JOIN pg_stat_activity USING (pid)
        WHERE locktype = 'advisory' AND objid = \(key) AND objsubid = 1 AND granted AND pid <> pg_backend_pid()
            AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
        """)
}
