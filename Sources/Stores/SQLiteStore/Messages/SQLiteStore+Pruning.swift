package import Envelope
import GRDB
import PushProtocol
package import Store

extension SQLiteStore {
    /// How many rows of each table one call of ``prune(at:)`` deletes at most, in a few milliseconds of the writer.
    static let maximumPrunedRowCount = 1_000

    // The newest row of a table stays, because the audit reads the number of all rows ever inserted from its id.
    package func prune(at now: Timestamp) async throws -> Pruned {
        let limit = Self.maximumPrunedRowCount
        let oldest = Retention(at: now)
        return try await queue.perform { transaction in
            let database = transaction.database
            let decided = try database.oldest(
                limit: limit, before: oldest.decidedMessages, at: now,
                of: "SELECT id, received_at, decided_at FROM message WHERE id < (SELECT max(id) FROM message) ORDER BY id"
            ) { row in try row.next(Timestamp?.self).map { $0 < oldest.decidedMessages } ?? false }
            // Replies that could not be published in their message's lifetime are deleted with it.
            try transaction.markPublished(decided)
            var messages: [Milestone] = []
            for range in RowRanges(decided) {
                messages += try database.all(
                    "DELETE FROM message WHERE id BETWEEN ? AND ? RETURNING state, ignore_reason", range.lowerBound, range.upperBound
                ) { try Milestone(messageState: $0.next(), ignoreReason: $0.next()) }
            }
            let pushes = try database.all(
                """
                DELETE FROM push WHERE id IN (
                    SELECT id FROM push WHERE finished_at < ? AND id < (SELECT max(id) FROM push) LIMIT ?
                ) RETURNING state
                """,
                oldest.finishedPushes, limit
            ) { try $0.next(PushOutcome.self).milestone }
            let pruned = Dictionary((messages + pushes).map { ($0, 1) }, uniquingKeysWith: +)
            for (milestone, count) in pruned { transaction.ledger.add(milestone, pruned: count) }
            let tokenCount = try transaction.pruneTokens(oldest, limit: limit, at: now)
            return Pruned(
                messageCount: messages.count, pushCount: pushes.count, deadTokenCount: tokenCount,
                isBounded: max(messages.count, pushes.count, tokenCount) >= limit)
        }
    }
}

extension SQLiteStore {
    /// How many rows one call of ``unregisterUnused(for:after:at:)`` examines. With a call a minute, a million rows take eight hours.
    static let maximumSweptRowCount = 2_000

    package func unregisterUnused(for lifetime: Duration, after row: Int64, at now: Timestamp) async throws -> UnusedRegistrations {
        let budget = try await unusedBudget(ofNewDayAt: now)
        return try await queue.perform {
            try $0.removeUnused(for: lifetime, budget: budget, after: row, limit: Self.maximumSweptRowCount, at: now)
        }
    }
}

extension Database {
    /// Finds rows that are older than a time, in the order of their ids, which is the order of their insertion. The search stops at the
    /// first newer row, so the table needs no index on the time.
    ///
    /// - Parameters:
    ///   - oldest: The time that the rows precede.
    ///   - now: The present. A row with a later time was written while the clock was wrong, and does not stop the search.
    ///   - sql: A statement that selects the id and each row's time, and the columns that `isDue` reads, in the order of the ids.
    ///   - isDue: Returns whether a row is wanted.
    /// - Returns: The ids of the first `limit` rows that are old enough and wanted.
    func oldest(
        limit: Int, before oldest: Timestamp, at now: Timestamp, of sql: String, isDue: (inout RowCursor) throws -> Bool
    ) throws -> [Int64] {
        var rows: [Int64] = []
        try step(sql) { row in
            let (id, time): (Int64, Timestamp) = (try row.next(), try row.next())
            if try isDue(&row), time < oldest { rows.append(id) }
            return rows.count < limit && (time < oldest || time > now)
        }
        return rows
    }
}
