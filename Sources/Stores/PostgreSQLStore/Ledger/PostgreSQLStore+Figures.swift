import Envelope
package import Store

extension PostgreSQLStore {
    package func figures() async throws -> StoreFigures {
        try await read { database in
            let results = try database.fetch([
                AuditFacts.selectLedger,
                Command(
                    """
                    SELECT count(*) FILTER (WHERE state = \(MessageState.recorded.rawValue)),
                        count(*) FILTER (WHERE state <> \(MessageState.recorded.rawValue))
                    FROM message WHERE is_unfinished
                    """),
                Command(
                    """
                    SELECT count(*), count(*) FILTER (WHERE next_attempt_at >= \(NextAttempt.firstTime)),
                        count(*) FILTER (WHERE next_attempt_at = \(NextAttempt.held)), min(accepted_at)
                    FROM push WHERE \(OpenPushes.due)
                    """),
                Command("SELECT count(*) FROM registration WHERE is_live"),
                Command("SELECT count(*) FROM suspect_token"),
                Command("SELECT pg_database_size(current_database()), (extract(epoch FROM clock_timestamp()) * 1000000)::int8 * 1000"),
            ])
            var figures = StoreFigures()
            try figures.ledger.add(ledger: results[0])
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
            for (size, time) in try results[5].map({ (try $0.next(Int.self), try $0.next(Timestamp.self)) }) {
                (figures.databaseByteCount, figures.databaseTime) = (size, time)
            }
            return figures
        }
    }
}
