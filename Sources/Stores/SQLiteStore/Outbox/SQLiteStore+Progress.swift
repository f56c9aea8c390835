package import Bytes
import StatusCrypto
package import Store

extension SQLiteStore {
    package func progress(ofPush deduplicationKey: Digest32) async throws -> PushProgress? {
        try await read { database in
            try database.first(
                """
                SELECT attempts, reason, state, finished_at IS NULL FROM push
                WHERE deduplication_prefix = ? AND deduplication_key = ? ORDER BY id DESC LIMIT 1
                """, deduplicationKey.prefix, deduplicationKey
            ) { row in
                let (attemptCount, reason): (Int64, String?) = (try row.next(), try row.next())
                let (state, isOpen): (Int64, Bool) = (try row.next(), try row.next())
                return PushProgress(
                    attemptCount: Int(attemptCount), reason: reason, outcome: isOpen ? nil : PushOutcome(rawValue: state))
            }
        }
    }
}
