package import Envelope
import GRDB
import Store

/// The open pushes of a restored backup, by their treatment.
package struct RestoredPushes: Sendable, Equatable {
    /// The number of pushes that remain open and are attempted again, although the original may have delivered them.
    package var uncertainCount: Int
    package var expiredCount: Int
}

extension SQLiteStore {
    /// Updates the open pushes of a restored backup, because the original may have delivered them since. They expire or become uncertain.
    ///
    /// - Parameter oldest: The time before which accepted pushes expire: most were delivered, and the others are too old.
    package func finishRestoredPushes(acceptedBefore oldest: Timestamp, at now: Timestamp) async throws -> RestoredPushes {
        try await queue.perform { transaction in
            let database = transaction.database
            let old = try database.all("SELECT id FROM push WHERE finished_at IS NULL AND accepted_at < ?", oldest) {
                try $0.next(Int64.self)
            }
            try transaction.finish(old, as: .expired, reason: .restored, at: now)
            let uncertainCount = try database.run(
                "UPDATE push SET state = \(OpenPushState.unknown.rawValue), next_attempt_at = \(NextAttempt.now) WHERE finished_at IS NULL")
            transaction.count(.uncertain, by: uncertainCount)
            return RestoredPushes(uncertainCount: uncertainCount, expiredCount: old.count)
        }
    }
}
