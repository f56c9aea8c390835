import Envelope
package import Store

extension PostgreSQLStore {
    package func figures() async throws -> StoreFigures {
        try await read { database in
            let (ledger, messages, pushes, registrationCount, suspectedTokenCount, size) = try database.fetch(
                AuditFacts.ledger,
                .first(
                    """
                    SELECT count(*) FILTER (WHERE state = \(MessageState.recorded.rawValue)),
                        count(*) FILTER (WHERE state <> \(MessageState.recorded.rawValue))
                    FROM message WHERE is_unfinished
                    """
                ) { (undecided: try $0.next(Int64.self), unpublished: try $0.next(Int.self)) },
                .first(
                    """
                    SELECT count(*), count(*) FILTER (WHERE next_attempt_at >= \(NextAttempt.firstTime)), min(accepted_at)
                    FROM push WHERE \(OpenPushes.due)
                    """
                ) { row in
                    (all: try row.next(Int.self), timed: try row.next(Int.self), oldest: try row.next(Timestamp?.self))
                },
                .count("SELECT count(*) FROM registration WHERE is_live"),
                .count("SELECT count(*) FROM suspect_token"),
                .first("SELECT pg_database_size(current_database()), (extract(epoch FROM clock_timestamp()) * 1000000)::int8 * 1000") {
                    (byteCount: try $0.next(Int.self), time: try $0.next(Timestamp.self))
                })
            var figures = StoreFigures()
            figures.ledger.add(ledger: ledger)
            if let messages { (figures.ledger.undecidedCount, figures.unpublishedCount) = messages }
            if let pushes {
                figures.openPushes = [.firstAttempt: pushes.all - pushes.timed, .retryOrDeferred: pushes.timed]
                figures.ledger.openCount = Int64(pushes.all)
                figures.oldestOpenPush = pushes.oldest
            }
            (figures.registrationCount, figures.suspectedTokenCount) = (registrationCount, suspectedTokenCount)
            if let size { (figures.databaseByteCount, figures.databaseTime) = size }
            return figures
        }
    }
}
