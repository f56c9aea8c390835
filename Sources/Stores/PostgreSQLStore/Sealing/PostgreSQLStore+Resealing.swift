import Bytes
import ServerCrypto
package import Store

extension PostgreSQLStore {
    /// Re-seals the next rows.
    ///
    /// After the last row the tables contain no secret under an older key. PostgreSQL keeps the old versions of the rows in its
    /// files until autovacuum removes them, and in WAL archives and backups until the operator deletes those.
    package func resealNext() async throws -> SealingProgress {
        let sealer = try sealing.sealer
        try await write { transaction in
            // Other servers of the database wait for this row, so that they do not work on the same step.
            let state = try ResealingState(transaction.database, isLocked: true)
            // A server that was started before a rotation has an older newest key. It leaves the work to the others.
            guard state.keyID == sealer.keys.newest else { return }
            try Resealing(transaction: transaction, newest: [sealer.keys.newest]).next(state)
        }
        return try await sealingProgress()
    }

    package func sealingProgress() async throws -> SealingProgress {
        try await read { database in
            let state = try ResealingState(database)
            return SealingProgress(state.step, try state.fraction(database), first: .first, done: .done)
        }
    }
}

/// The stored progress of re-sealing.
struct ResealingState {
    /// The key that seals new values.
    let keyID: UInt8
    let step: ResealingStep
    /// The key of the last row of the step's table that was examined. Empty to begin.
    let position: [UInt8]

    /// Reads the progress.
    ///
    /// - Parameter isLocked: Whether the state is locked until the transaction ends.
    init(_ database: Transaction, isLocked: Bool = false) throws {
        let state = try database.first("SELECT key_id, step, position FROM sealing \(isLocked ? "FOR UPDATE" : "")") { row in
            (keyID: try row.next(Int64.self), step: try row.next(ResealingStep.self), position: try row.next([UInt8].self))
        }
        guard let state, let keyID = UInt8(exactly: state.keyID) else { throw StoreError.damaged }
        (self.keyID, step, position) = (keyID, state.step, state.position)
    }

    /// Returns the fraction of the step's table that is done.
    fileprivate func fraction(_ database: Transaction) throws -> Double {
        guard !position.isEmpty, let rows = step.rows else { return 0 }
        if step.isNumbered { return try database.fraction(of: rows, at: Int64(position: position)) }
        // Keys of bytes are spread evenly, but for names.
        return Double(Int64(position: Array(position.prefix(2)))) / 65_536
    }
}
