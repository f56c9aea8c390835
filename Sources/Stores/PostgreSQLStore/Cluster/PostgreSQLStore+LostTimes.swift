package import Envelope
package import Store

extension PostgreSQLStore {
    package func lostTimes() async throws -> [LostTime] {
        let name = member.name
        return try await read { database in
            try database.all(
                "SELECT started_at, ended_at, noticed_at FROM lost_time WHERE server_name = $1 ORDER BY noticed_at", name
            ) { LostTime(start: try $0.next(), end: try $0.next(), noticedAt: try $0.next()) }
        }
    }

    package func endRestoredPushes(acceptedBefore oldest: Timestamp, at now: Timestamp) async throws -> Int {
        try await write { transaction in
            let count = try transaction.database.run(
                """
                UPDATE push SET state = $1, finished_at = $2, reason = $3, secrets = NULL
                WHERE id = ANY(ARRAY(SELECT id FROM push WHERE \(OpenPushes.inOrder) AND accepted_at < $4 FOR UPDATE SKIP LOCKED))
                """,
                PushOutcome.expired, now, PushReason.restored.rawValue, oldest)
            transaction.count(.expired, by: count)
            return count
        }
    }
}
