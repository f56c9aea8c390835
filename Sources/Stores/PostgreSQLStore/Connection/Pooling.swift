import Store

/// A pooler such as pgbouncer between the server and PostgreSQL. It has to keep a session for each connection, because the server's
/// connections have settings, prepared statements and locks.
enum Pooling {
    /// The SQLSTATEs of a prepared statement that exists already, or does not exist: those of another connection's session. And that of
    /// pgbouncer's refusal of a transaction, if it gives connections out for single statements.
    static let sharingStates: Set = ["42P05", "26000", "08P01"]

    /// The number of times that the sessions are compared: a pooler that takes turns changes them each time.
    private static let comparisonCount = 3

    /// Checks that each connection has a session of its own, which stays.
    ///
    /// - Throws: `StoreError.sharedSessions`, or the error of the connection.
    static func check(_ parameters: [String: String]) throws {
        // Two idle connections of a pooler that gives sessions out for transactions get the same one.
        let connections = try [Connection(parameters), Connection(parameters)]
        var sessions: [[Int64]] = []
        for _ in 1...comparisonCount {
            sessions.append(
                try connections.flatMap { try $0.run([Command("SELECT pg_backend_pid()::int8")])[0].map { try $0.next(Int64.self) } })
        }
        guard let first = sessions.first, Set(first).count == connections.count, sessions.allSatisfy({ $0 == first }) else {
            throw StoreError.sharedSessions
        }
    }

    /// Returns what to set in a pooler that refuses a connection with a message of libpq; empty for another message.
    static func advice(about message: String) -> String {
        message.contains("unsupported startup parameter") ? "; set ignore_startup_parameters = options in the pooler" : ""
    }
}
