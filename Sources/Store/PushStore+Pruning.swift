package import Envelope
import GRDB

extension PushStore {
    /// How long decided messages and finished pushes are kept: twice the longest life of a push, 24 hours, so that a store catch-up
    /// finds the hashes it has seen, a request that is sent again its reply, and an audit all of a push that has just expired.
    package static let retention = Duration.seconds(48 * 3_600)

    /// How long suspicions against device tokens are kept, and copies of dead registrations: over a week-end and the days after it.
    package static let deadTokenRetention = Duration.seconds(7 * 24 * 3_600)

    /// What ``prune(at:)`` deletes of each table at most: some milliseconds of the writer.
    package static let maximumPrunedRowCount = 1_000

    /// What ``prune(at:)`` has deleted.
    package struct Pruned: Sendable, Equatable {
        package var messageCount: Int
        package var pushCount: Int
        package var deadTokenCount = 0

        /// Whether there may be more that is due.
        package var isBounded: Bool { max(messageCount, pushCount, deadTokenCount) >= maximumPrunedRowCount }
    }

    /// Deletes what was decided or finished more than ``retention`` ago: never an open push, an undecided message or a tombstone, and
    /// never the newest row, which says how many there were. The ledger knows how many of each kind.
    package func prune(at now: Timestamp) async throws -> Pruned {
        let limit = Int64(Self.maximumPrunedRowCount)
        let oldest = now.advanced(by: .zero - Self.retention)
        let oldestDead = now.advanced(by: .zero - Self.deadTokenRetention)
        return try await commit { transaction in
            let database = transaction.database
            let decided = try database.oldest(
                limit: Self.maximumPrunedRowCount, before: oldest, at: now,
                of: "SELECT id, received_at, decided_at FROM message WHERE id < (SELECT max(id) FROM message) ORDER BY id"
            ) { !$0.isNull(2) && $0.timestamp(2) < oldest }
            // A reply that never went out is not waited for any longer.
            try transaction.markReplied(decided)
            var messages: [Milestone] = []
            for range in RowRanges(decided) {
                messages += try database.all(
                    "DELETE FROM message WHERE id BETWEEN ? AND ? RETURNING state, ignore_reason", range.lowerBound, range.upperBound
                ) { try Milestone(messageState: $0.integer(0), ignoreReason: $0.integer(1)) }
            }
            let pushes = try database.all(
                """
                DELETE FROM push WHERE id IN (
                    SELECT id FROM push WHERE finished_at < ? AND id < (SELECT max(id) FROM push) LIMIT ?
                ) RETURNING state
                """,
                oldest, limit
            ) { row in
                guard let outcome = PushOutcome(rawValue: row.integer(0)) else { throw StoreError.damaged }
                return outcome.milestone
            }
            let pruned = Dictionary((messages + pushes).map { ($0, 1) }, uniquingKeysWith: +)
            for (milestone, count) in pruned { transaction.countPruned(milestone, by: count) }
            let suspicionCount = try database.run(
                """
                DELETE FROM suspect_token WHERE token_digest IN (SELECT token_digest FROM suspect_token WHERE suspected_at < ? LIMIT ?)
                """,
                oldestDead, limit)
            let deadCount = try database.run(
                "DELETE FROM dead_registration WHERE id IN (SELECT id FROM dead_registration WHERE died_at < ? LIMIT ?)",
                oldestDead, limit)
            return Pruned(
                messageCount: messages.count, pushCount: pushes.count, deadTokenCount: max(suspicionCount, deadCount))
        }
    }
}

extension Database {
    /// Steps through rows in the order in which they came, which is that of their numbers, as far as they are older than a time: so a
    /// table needs no index on it.
    ///
    /// - Parameters:
    ///   - sql: selects the number and the time of each row, by number.
    ///   - now: rows that are newer than this were written while the clock was wrong, and are passed over.
    ///   - isDue: whether a row that is old enough is wanted.
    /// - Returns: the numbers of the first `limit` that are.
    func oldest(
        limit: Int, before oldest: Timestamp, at now: Timestamp, of sql: String, isDue: (BoundStatement) throws -> Bool
    ) throws -> [Int64] {
        var rows: [Int64] = []
        try step(sql) { row in
            let time = row.timestamp(1)
            if time < oldest, try isDue(row) { rows.append(row.integer(0)) }
            return rows.count < limit && !(oldest...now).contains(time)
        }
        return rows
    }
}

extension Milestone {
    /// Of a decided message.
    init(messageState: Int64, ignoreReason: Int64) throws(StoreError) {
        switch (MessageState(rawValue: messageState), IgnoreReason(rawValue: ignoreReason)) {
        case (.silent, _), (.answered, _): self = .processed
        case (.ignored, .invalid): self = .invalid
        case (.ignored, .notForUs), (.ignored, .tooOld): self = .ignored
        default: throw .damaged
        }
    }
}
