import Bytes
import GRDB
import ServerCrypto
package import Store

extension SQLiteStore {
    package func resealNext() async throws -> SealingProgress {
        let sealer = try sealing.sealer
        let step = try await queue.perform { transaction in
            let state = try ResealingState(transaction.database)
            let resealing = Resealing(transaction: transaction, newest: [sealer.keys.newest])
            try transaction.database.overwritingDeletedContent { try resealing.next(state) }
            return state.step
        }
        if step == .truncatingLog { try await truncateLog() }
        return try await sealingProgress()
    }

    package func sealingProgress() async throws -> SealingProgress {
        try await read { database in
            let state = try ResealingState(database)
            let part = try state.step.rows.map { try database.fraction(of: $0, at: state.position) } ?? 0
            return SealingProgress(state.step, part, first: .first, done: .done)
        }
    }

    /// The WAL may have old content. SQLite truncates it when no reader needs it.
    private func truncateLog() async throws {
        do {
            try await pool.writeWithoutTransaction { _ = try $0.checkpoint(.truncate) }
        } catch let error as DatabaseError {
            throw StoreError(error)
        }
        try await queue.perform { transaction in
            let database = transaction.database
            try database.run("DELETE FROM sealing_key WHERE key_id <> (SELECT key_id FROM sealing)")
            try database.run("UPDATE sealing SET step = \(ResealingStep.done.rawValue), position = 0, needs_compaction = 1")
        }
    }
}

/// The stored progress of re-sealing.
struct ResealingState {
    var step: ResealingStep
    /// The last row of the step's table that was examined. 0 to begin.
    var position: Int64

    /// Reads the progress.
    init(_ database: Database) throws {
        let state = try database.first("SELECT step, position FROM sealing") { row in
            (step: try row.next(ResealingStep.self), position: try row.next(Int64.self))
        }
        guard let state else { throw StoreError.damaged }
        (step, position) = state
    }
}
