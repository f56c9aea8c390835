import Envelope
import Store

extension PostgreSQLStore {
    /// Applies an update without the pushes whose rows another session holds.
    ///
    /// A change of a device token whose rows are locked is dropped. The next push to the device makes up for it, because Apple or Google
    /// then reports the same again.
    func updateUnlocked(_ update: OutboxUpdate, at now: Timestamp) async throws -> UpdatedOutbox {
        var updated = UpdatedOutbox()
        updated.locked = try await write { transaction in
            let free = try transaction.lockUnlocked(update.pushes.map(\.id))
            var part = OutboxUpdate()
            part.pushes = update.pushes.filter { free.contains($0.id) }
            part.deliveredBundleIDs = update.deliveredBundleIDs
            _ = try transaction.apply(part, at: now)
            return Set(update.pushes.map(\.id)).subtracting(free)
        }
        updated.unregistered = try await updateUnlocked(update.tokens, at: now)
        return updated
    }

    private func updateUnlocked(_ tokens: [OutboxUpdate.TokenChange], at now: Timestamp) async throws -> [ChangedRegistration] {
        var removed: [ChangedRegistration] = []
        var halving = Halving(count: tokens.count)
        while let positions = halving.next {
            do {
                removed += try await write { transaction in
                    transaction.database.add(LockLimit.part)
                    var part = OutboxUpdate()
                    part.tokens = Array(tokens[positions])
                    return try transaction.apply(part, at: now)
                }
                halving.succeed()
            } catch StoreError.rowLocked {
                _ = halving.fail(with: StoreError.rowLocked(by: nil))
            }
        }
        return removed
    }
}

extension WriteTransaction {
    /// Locks those pushes whose rows are not locked. Pushes that have gone count as not locked.
    fileprivate func lockUnlocked(_ pushes: [Int64]) throws -> Set<Int64> {
        guard !pushes.isEmpty else { return [] }
        let (free, known) = try database.fetch(
            .all("SELECT id FROM push WHERE id = ANY($1) ORDER BY id FOR UPDATE SKIP LOCKED", SQLArray(pushes)) { try $0.next(Int64.self) },
            .all("SELECT id FROM push WHERE id = ANY($1)", SQLArray(pushes)) { try $0.next(Int64.self) })
        return Set(pushes).subtracting(known).union(free)
    }
}
