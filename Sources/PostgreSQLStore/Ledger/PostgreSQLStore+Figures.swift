import Envelope
package import Store

extension PostgreSQLStore {
    package func figures() async throws -> StoreFigures {
        try await read { database in
            let results = try database.fetch([
                Command("SELECT milestone, sum(count)::int8, sum(pruned)::int8 FROM ledger GROUP BY milestone"),
                Command(
                    """
                    SELECT count(*) FILTER (WHERE state = \(MessageState.recorded.rawValue)),
                        count(*) FILTER (WHERE state <> \(MessageState.recorded.rawValue))
                    FROM message WHERE is_unfinished
                    """),
                Command(
                    """
                    SELECT count(*), count(*) FILTER (WHERE next_attempt_at >= \(OutboxFairQueue.roundLimit)),
                        count(*) FILTER (WHERE next_attempt_at = \(Int64.max)), min(accepted_at)
                    FROM push WHERE finished_at IS NULL
                    """),
                Command("SELECT count(*) FROM registration WHERE is_live"),
                Command("SELECT count(*) FROM suspect_token"),
                Command("SELECT pg_database_size(current_database())"),
            ])
            var figures = StoreFigures()
            for (name, count, pruned) in try results[0].map({ (try $0.next(String.self), try $0.next(Int64.self), try $0.next(Int64.self)) }
            ) {
                guard let milestone = Milestone(rawValue: name) else {
                    figures.ledger.damagedRowCount += 1
                    continue
                }
                figures.ledger.counts[milestone] = count
                figures.ledger.prunedCounts[milestone] = pruned
            }
            for (undecided, unpublished) in try results[1].map({ (try $0.next(Int64.self), try $0.next(Int.self)) }) {
                (figures.ledger.undecidedCount, figures.unpublishedCount) = (undecided, unpublished)
            }
            for row in try results[2].map({
                (try $0.next(Int.self), try $0.next(Int.self), try $0.next(Int.self), try $0.next(Timestamp?.self))
            }) {
                let (all, timed, inFlight, oldest) = row
                figures.openPushes = [.firstAttempt: all - timed, .retryOrDeferred: timed - inFlight, .inFlight: inFlight]
                figures.ledger.openCount = Int64(all)
                figures.oldestOpenPush = oldest
            }
            figures.registrationCount = try results[3].map { try $0.next(Int.self) }.first ?? 0
            figures.suspectedTokenCount = try results[4].map { try $0.next(Int.self) }.first ?? 0
            figures.databaseByteCount = try results[5].map { try $0.next(Int.self) }.first
            return figures
        }
    }
}
