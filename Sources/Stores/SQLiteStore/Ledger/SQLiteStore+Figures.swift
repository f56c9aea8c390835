import Envelope
import GRDB
package import Store

extension SQLiteStore {
    package func figures() async throws -> StoreFigures {
        try await read { database in
            var figures = StoreFigures()
            try database.readLedger(into: &figures.ledger)
            try database.readRowsEver(into: &figures.ledger)
            try database.forEach(
                """
                SELECT state = \(MessageState.recorded.rawValue), count(*)
                FROM unfinished_message JOIN message ON id = unfinished_message.message GROUP BY 1
                """
            ) { row in
                let (isUndecided, count): (Bool, Int) = (try row.next(), try row.next())
                if isUndecided { figures.ledger.undecidedCount = Int64(count) } else { figures.unpublishedCount = count }
            }
            try database.forEach(Self.countOpenPushes) { row in
                let (all, timed): (Int, Int) = (try row.next(), try row.next())
                figures.openPushes = [.firstAttempt: all - timed, .retryOrDeferred: timed]
                figures.ledger.openCount = Int64(all)
            }
            figures.oldestOpenPush = try database.oldestOpenPush()
            figures.registrationCount = try database.registrationCount()
            figures.suspectedTokenCount = try database.count("SELECT count(*) FROM suspect_token")
            return figures
        }
    }

    /// Counts the open pushes and those with a time in a single pass over the index. Groups by an expression would take twice as long.
    private static let countOpenPushes = """
        SELECT count(*), coalesce(sum(next_attempt_at >= \(NextAttempt.firstTime)), 0)
        FROM push INDEXED BY push_waiting WHERE finished_at IS NULL
        """
}

extension Database {
    func oldestOpenPush() throws -> Timestamp? {
        try first("SELECT accepted_at FROM push WHERE finished_at IS NULL ORDER BY id LIMIT 1") { try $0.next() }
    }

    func registrationCount() throws -> Int { try count("SELECT count(*) FROM query_topic") }
}
