package import Envelope
import GRDB

extension PushStore {
    /// How long decided messages and finished pushes are kept: twice the longest life of a push, 24 hours, so that a store catch-up
    /// finds the hashes it has seen, a request that is sent again its reply, and an audit all of a push that has just expired.
    package static let retention = Duration.seconds(48 * 3_600)

    /// What ``prune(at:)`` deletes of each table at most: some milliseconds of the writer.
    package static let maximumPrunedRowCount = 1_000

    /// What ``prune(at:)`` has deleted.
    package struct Pruned: Sendable, Equatable {
        package var messageCount: Int
        package var pushCount: Int

        /// Whether there may be more that is due.
        package var isBounded: Bool { max(messageCount, pushCount) == maximumPrunedRowCount }
    }

    /// Deletes what was decided or finished more than ``retention`` ago: never a queued push, an undecided message or a tombstone.
    package func prune(at now: Timestamp) async throws -> Pruned {
        let limit = Int64(Self.maximumPrunedRowCount)
        let oldest = now.advanced(by: .zero - Self.retention)
        return try await queue.perform { database in
            let messageCount = try database.run(
                "DELETE FROM message WHERE id IN (SELECT id FROM message WHERE decided_at < ? LIMIT ?)", oldest, limit)
            let pushCount = try database.run(
                "DELETE FROM push WHERE id IN (SELECT id FROM push WHERE finished_at < ? LIMIT ?)", oldest, limit)
            return Pruned(messageCount: messageCount, pushCount: pushCount)
        }
    }
}
