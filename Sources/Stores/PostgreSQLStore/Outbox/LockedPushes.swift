import Bytes
import Envelope
import Store
import Synchronization

/// The pushes whose rows another session of the database holds. An attempt of one is not planned for a while, and an outcome waits in
/// memory until the row is free. If the server crashes before, the attempt is uncertain.
struct LockedPushes: Sendable {
    typealias Outcome = (push: OutboxUpdate.Push, at: Timestamp)

    /// How long no attempt is planned. A plan with a locked push fails as a whole, and each failure takes the time of a lock.
    static let avoidanceTime = Duration.seconds(5)

    private var avoidedUntil: [Int64: Duration] = [:]
    /// The outcomes that are not recorded yet, by push.
    private(set) var outcomes: [Int64: Outcome] = [:]

    /// Records that changes of pushes found their rows locked. A change other than a lease waits.
    mutating func add(_ pushes: some Sequence<OutboxUpdate.Push>, madeAt time: Timestamp, at now: Duration) {
        for push in pushes {
            if push.isLease { avoidedUntil[push.id] = now + Self.avoidanceTime } else { outcomes[push.id] = (push, time) }
        }
    }

    /// Records that the outcomes of pushes are recorded.
    mutating func remove(_ pushes: some Sequence<Int64>) { for push in pushes { outcomes[push] = nil } }

    /// Forgets all outcomes, because another server may own the pushes.
    mutating func removeOutcomes() { outcomes = [:] }

    /// Returns the pushes of which no attempt is planned.
    mutating func avoided(at now: Duration) -> [Int64] {
        guard !avoidedUntil.isEmpty else { return [] }
        avoidedUntil = avoidedUntil.filter { $0.value > now }
        return Array(avoidedUntil.keys)
    }
}

extension PostgreSQLStore {
    func pushesToAvoid() -> [Int64] {
        let now = time.elapsed()
        return lockedPushes.withLock { $0.avoided(at: now) }
    }

    /// Applies an update that found a row locked, without the locked rows.
    ///
    /// A change of a device token whose rows are locked is dropped. The next push to the device makes up for it, because Apple or Google
    /// then reports the same again.
    ///
    /// - Throws: `StoreError.rowLocked` if the update begins attempts. None of it is applied then.
    func applyUnlessLocked(_ update: OutboxUpdate, at now: Timestamp) async throws -> [ChangedRegistration] {
        guard !update.pushes.contains(where: \.isLease) else {
            let free = try await write { try $0.lockUnlocked(update.pushes.map(\.id)) }
            setAside(update.pushes.filter { $0.isLease && !free.contains($0.id) }, at: now)
            throw StoreError.rowLocked(by: nil)
        }
        let locked = try await write { transaction in
            let free = try transaction.lockUnlocked(update.pushes.map(\.id))
            var part = OutboxUpdate()
            part.pushes = update.pushes.filter { free.contains($0.id) }
            part.deliveredBundleIDs = update.deliveredBundleIDs
            _ = try transaction.apply(part, at: now)
            return update.pushes.filter { !free.contains($0.id) }
        }
        setAside(locked, at: now)
        return try await applyUnlessLocked(update.tokens, at: now)
    }

    private func setAside(_ pushes: [OutboxUpdate.Push], at now: Timestamp) {
        let time = time.elapsed()
        lockedPushes.withLock { $0.add(pushes, madeAt: now, at: time) }
    }

    private func applyUnlessLocked(_ tokens: [OutboxUpdate.TokenChange], at now: Timestamp) async throws -> [ChangedRegistration] {
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

    /// Records the outcomes that have waited, and whose rows are free.
    func recordLockedOutcomes() async throws {
        let outcomes = lockedPushes.withLock(\.outcomes)
        guard !outcomes.isEmpty else { return }
        let recorded = try await write { transaction in
            let free = try transaction.lockUnlocked(Array(outcomes.keys))
            for (now, outcomes) in Dictionary(grouping: free.compactMap { outcomes[$0] }, by: \.at) {
                var part = OutboxUpdate()
                part.pushes = outcomes.map(\.push)
                _ = try transaction.apply(part, at: now)
            }
            return free
        }
        lockedPushes.withLock { $0.remove(recorded) }
    }
}

extension WriteTransaction {
    /// Locks those pushes whose rows are not locked.
    fileprivate func lockUnlocked(_ pushes: [Int64]) throws -> Set<Int64> {
        guard !pushes.isEmpty else { return [] }
        return Set(
            try database.all("SELECT id FROM push WHERE id = ANY($1) ORDER BY id FOR UPDATE SKIP LOCKED", SQLArray(pushes)) {
                try $0.next(Int64.self)
            })
    }
}
