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
                let (state, count): (Int64, Int) = (try row.next(), try row.next())
                figures.openPushes[StoreFigures.OpenPush(rawValue: state) ?? .firstAttempt] = count
                figures.ledger.openCount += Int64(count)
            }
            figures.oldestOpenPush = try database.oldestOpenPush()
            figures.registrationCount = try database.registrationCount()
            figures.suspectedTokenCount = try database.count("SELECT count(*) FROM suspect_token")
            return figures
        }
    }

    /// Counts the open pushes from the index alone: the time of the next attempt tells their states.
    private static let countOpenPushes = """
        SELECT CASE WHEN next_attempt_at = \(Int64.max) THEN 2 WHEN next_attempt_at >= \(OutboxFairQueue.roundLimit) THEN 1 ELSE 0 END,
            count(*)
        FROM push INDEXED BY push_due WHERE finished_at IS NULL GROUP BY 1
        """
}

extension Database {
    func oldestOpenPush() throws -> Timestamp? {
        try first("SELECT accepted_at FROM push WHERE finished_at IS NULL ORDER BY id LIMIT 1") { try $0.next() }
    }

    func registrationCount() throws -> Int { try count("SELECT count(*) FROM query_topic") }
}
