package import Envelope
import PushProtocol
package import Store

extension PostgreSQLStore {
    /// How many rows of each table one call of ``prune(at:)`` deletes at most, in some tens of milliseconds.
    private static let maximumPrunedRowCount = 1_000
    /// How many rows one call of ``unregisterUnused(for:after:at:)`` examines.
    private static let maximumSweptRowCount = 2_000

    package func prune(at now: Timestamp) async throws -> Pruned {
        let limit = Self.maximumPrunedRowCount
        let oldest = Retention(at: now)
        return try await write { transaction in
            guard try transaction.takeJob("prune") else { return Pruned(messageCount: 0, pushCount: 0) }
            let database = transaction.database
            // The outcome of a commit is looked up for a minute.
            database.add(
                """
                DELETE FROM last_write WHERE writer IN (
                    SELECT writer FROM last_write WHERE written_at < now() - interval '1 day' FOR UPDATE SKIP LOCKED)
                """)
            let (messages, pushes) = try database.fetch(
                .all(
                    """
                    DELETE FROM message WHERE id IN (
                        SELECT id FROM message WHERE decided_at < $1 AND id < (SELECT max(id) FROM message)
                        ORDER BY decided_at LIMIT $2 FOR UPDATE SKIP LOCKED
                    ) RETURNING state, ignore_reason
                    """, oldest.decidedMessages, limit
                ) { try Milestone(messageState: $0.next(), ignoreReason: $0.next()) },
                .all(
                    """
                    DELETE FROM push WHERE id IN (
                        SELECT id FROM push WHERE finished_at < $1 AND id < (SELECT max(id) FROM push)
                        ORDER BY finished_at LIMIT $2 FOR UPDATE SKIP LOCKED
                    ) RETURNING state
                    """, oldest.finishedPushes, limit
                ) { try $0.next(PushOutcome.self).milestone })
            let pruned = Dictionary((messages + pushes).map { ($0, 1) }, uniquingKeysWith: +)
            for (milestone, count) in pruned { transaction.ledger.add(milestone, pruned: count) }
            let tokenCount = try transaction.pruneTokens(oldest, limit: limit, at: now)
            return Pruned(
                messageCount: messages.count, pushCount: pushes.count, deadTokenCount: tokenCount,
                isBounded: max(messages.count, pushes.count, tokenCount) >= limit)
        }
    }

    package func unregisterUnused(for lifetime: Duration, after row: Int64, at now: Timestamp) async throws -> UnusedRegistrations {
        let budget = try await unusedBudget(ofNewDayAt: now)
        return try await write { transaction in
            guard try transaction.takeJob("unregister unused") else { return UnusedRegistrations(gone: [], lastRow: 0) }
            return try transaction.removeUnused(for: lifetime, budget: budget, after: row, limit: Self.maximumSweptRowCount, at: now)
        }
    }
}
