package import Envelope
import GRDB
import PushProtocol
package import Store

extension SQLiteStore {
    /// The 1,000 rows of each table that ``prune(at:)`` deletes at most: some milliseconds of the writer.
    static let maximumPrunedRowCount = 1_000

    /// 180 days, as an unused registration by default.
    private static let provenTokenLifetime = Duration.seconds(180 * 86_400)

    // Never the newest row, which says how many there were.
    package func prune(at now: Timestamp) async throws -> Pruned {
        let limit = Self.maximumPrunedRowCount
        let oldestMessage = now.advanced(by: .zero - ProtocolLimits.decidedMessageLifetime)
        let oldestPush = now.advanced(by: .zero - ProtocolLimits.finishedPushLifetime)
        let oldestDead = now.advanced(by: .zero - DeadRegistration.lifetime)
        return try await queue.perform { transaction in
            let database = transaction.database
            let decided = try database.oldest(
                limit: limit, before: oldestMessage, at: now,
                of: "SELECT id, received_at, decided_at FROM message WHERE id < (SELECT max(id) FROM message) ORDER BY id"
            ) { row in try row.next(Timestamp?.self).map { $0 < oldestMessage } ?? false }
            // Replies that were never published are given up.
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
                oldestPush, limit
            ) { try $0.next(PushOutcome.self).milestone }
            let pruned = Dictionary((messages + pushes).map { ($0, 1) }, uniquingKeysWith: +)
            for (milestone, count) in pruned { transaction.ledger.add(milestone, pruned: count) }
            let suspicionCount = try database.run(
                """
                DELETE FROM suspect_token WHERE token_digest IN (SELECT token_digest FROM suspect_token WHERE suspected_at < ? LIMIT ?)
                """,
                oldestDead, limit)
            let provenCount = try database.run(
                """
                DELETE FROM proven_token WHERE token_digest IN (SELECT token_digest FROM proven_token WHERE delivered_at < ? LIMIT ?)
                """,
                now.advanced(by: .zero - Self.provenTokenLifetime), limit)
            let deadCount = try database.run(
                "DELETE FROM dead_registration WHERE id IN (SELECT id FROM dead_registration WHERE died_at < ? LIMIT ?)",
                oldestDead, limit)
            let removedCount = try transaction.forgetRemovedDevices(before: now, limit: limit)
            let deadTokenCount = max(suspicionCount, provenCount, deadCount, removedCount)
            return Pruned(
                messageCount: messages.count, pushCount: pushes.count, deadTokenCount: deadTokenCount,
                isBounded: max(messages.count, pushes.count, deadTokenCount) >= limit)
        }
    }
}

extension SQLiteStore {
    /// The 2,000 rows that ``unregisterUnused(since:after:at:)`` examines: a million rows take eight hours at a call a minute.
    static let maximumSweptRowCount = 2_000

    package func unregisterUnused(since oldest: Timestamp, after row: Int64, at now: Timestamp) async throws -> UnusedRegistrations {
        try await queue.perform { transaction in
            try transaction.removeDevices(unusedSince: oldest, at: now, limit: Self.maximumSweptRowCount)
            let last = try transaction.database.first(
                "SELECT max(id) FROM (SELECT id FROM registration WHERE id > ? ORDER BY id LIMIT ?)", row, Self.maximumSweptRowCount
            ) { try $0.next(Int64?.self) }
            guard let last = last ?? nil else { return UnusedRegistrations(gone: [], lastRow: 0) }
            let gone = try transaction.unregister(unusedSince: oldest, among: (row + 1)...last, at: now)
            return UnusedRegistrations(gone: gone, lastRow: last)
        }
    }
}

extension Database {
    /// Steps through rows in the order in which they came, which is that of their numbers, as far as they are older than a time: so a
    /// table needs no index on it.
    ///
    /// - Parameters:
    ///   - sql: selects the number and the time of each row, by number, and what `isDue` reads.
    ///   - now: rows that are newer than this were written while the clock was wrong, and are passed over.
    ///   - isDue: whether a row that is old enough is wanted.
    /// - Returns: the numbers of the first `limit` that are.
    func oldest(
        limit: Int, before oldest: Timestamp, at now: Timestamp, of sql: String, isDue: (inout RowCursor) throws -> Bool
    ) throws -> [Int64] {
        var rows: [Int64] = []
        try step(sql) { row in
            let (id, time): (Int64, Timestamp) = (try row.next(), try row.next())
            if try isDue(&row), time < oldest { rows.append(id) }
            return rows.count < limit && !(oldest...now).contains(time)
        }
        return rows
    }
}

extension Milestone {
    /// The milestone of a decided message, from the stored numbers.
    init(messageState: MessageState, ignoreReason: IgnoreReason?) throws(StoreError) {
        switch (messageState, ignoreReason) {
        case (.silent, _), (.answered, _): self = .processed
        case (.ignored, .invalid): self = .invalid
        case (.ignored, .notForUs), (.ignored, .tooOld): self = .ignored
        default: throw .damaged
        }
    }
}
