package import Envelope
import GRDB
import Store

/// What became of pushes that waited when a database was backed up.
package struct RestoredPushes: Sendable, Equatable {
    /// They may have been sent since, and are tried again.
    package var uncertainCount: Int
    package var expiredCount: Int
}

extension SQLiteStore {
    /// Judges the pushes that are open in the copy of a database: what became of them after it was made, nobody knows.
    ///
    /// - Parameter oldest: what was accepted before that ends as expired: it has most likely arrived, and is old news if not.
    package func settleRestoredPushes(acceptedBefore oldest: Timestamp, at now: Timestamp) async throws -> RestoredPushes {
        try await queue.perform { transaction in
            let database = transaction.database
            let old = try database.all("SELECT id FROM push WHERE finished_at IS NULL AND accepted_at < ?", oldest) {
                try $0.next(Int64.self)
            }
            for push in old { try transaction.finish(push, as: .expired, reason: "restored", at: now) }
            let uncertainCount = try database.run(
                "UPDATE push SET state = \(OpenPushState.unknown.rawValue), next_attempt_at = 0 WHERE finished_at IS NULL")
            transaction.count(.uncertain, by: uncertainCount)
            return RestoredPushes(uncertainCount: uncertainCount, expiredCount: old.count)
        }
    }
}
