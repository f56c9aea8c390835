import Bytes
package import Envelope
import PushProtocol
import StatusCrypto
package import Store
import Synchronization

extension PostgreSQLStore {
    package func commit<Work: Sendable, Outcome: Sendable>(
        _ work: [Work], at now: Timestamp, loading lookups: @escaping @Sendable ([Work]) -> Lookups,
        deciding decide: @escaping @Sendable (Work, inout DecidedBatch) -> Outcome
    ) async -> Committed<Outcome> {
        let held = await heldOwners(among: lookups(work).owners.intersection(knownHeldOwners.withLock(\.self)))
        guard held.isEmpty else {
            return await commit(work, besides: held, by: nil, at: now, loading: lookups, deciding: decide)
        }
        do {
            let part = try await attempt(work, within: nil, at: now, loading: lookups, deciding: decide)
            return Committed(
                outcomes: part.outcomes.map { .success($0) }, topicChanges: part.topicChanges, supersededReplies: part.supersededReplies)
        } catch StoreError.rowLocked {
            let held = await heldOwners(among: lookups(work).owners)
            guard !held.isEmpty else {
                return await commitInParts(work, after: StoreError.rowLocked(by: nil), at: now, loading: lookups, deciding: decide)
            }
            return await commit(work, besides: held, by: holder(of: held), at: now, loading: lookups, deciding: decide)
        } catch {
            return await commitInParts(work, after: error, at: now, loading: lookups, deciding: decide)
        }
    }

    /// Commits the work that does not need the rows of some owners, which another session holds.
    private func commit<Work: Sendable, Outcome: Sendable>(
        _ work: [Work], besides held: Set<Digest64>, by holder: String?, at now: Timestamp,
        loading lookups: @escaping @Sendable ([Work]) -> Lookups, deciding decide: @escaping @Sendable (Work, inout DecidedBatch) -> Outcome
    ) async -> Committed<Outcome> {
        let needs = work.map { lookups([$0]).owners.intersection(held) }
        let free = zip(work, needs).filter(\.1.isEmpty).map(\.0)
        var committed =
            free.isEmpty
            ? Committed(outcomes: [], topicChanges: [])
            : await commitInParts(free, after: nil, at: now, loading: lookups, deciding: decide)
        var outcomes = committed.outcomes.makeIterator()
        committed.outcomes = needs.compactMap { owners in
            owners.isEmpty ? outcomes.next() : .failure(StoreError.ownersLocked(owners, by: holder))
        }
        return committed
    }

    /// Commits work, and if that fails, in smaller and smaller parts.
    ///
    /// - Parameter error: The error with which all of it has failed, or nil before the first attempt.
    private func commitInParts<Work: Sendable, Outcome: Sendable>(
        _ work: [Work], after error: (any Error)?, at now: Timestamp, loading lookups: @escaping @Sendable ([Work]) -> Lookups,
        deciding decide: @escaping @Sendable (Work, inout DecidedBatch) -> Outcome
    ) async -> Committed<Outcome> {
        var committed = Committed<Outcome>(outcomes: [], topicChanges: [])
        var halving = Halving(count: work.count)
        // A single piece is attempted again to find out who holds its row.
        let isLocked = error as? StoreError == .rowLocked(by: nil)
        if let error, work.count > 1 || !isLocked { committed.outcomes += halving.fail(with: error).map { _ in .failure(error) } }
        while let positions = halving.next {
            let pieces = Array(work[positions])
            do {
                let limit = positions.count < work.count || isLocked ? LockLimit.part : nil
                let part = try await namingHolder(isAlone: positions.count == 1, within: limit) { limit in
                    try await self.attempt(pieces, within: limit, at: now, loading: lookups, deciding: decide)
                }
                committed.outcomes += part.outcomes.map { .success($0) }
                committed.topicChanges += part.topicChanges
                committed.supersededReplies += part.supersededReplies
                halving.succeed()
            } catch {
                committed.outcomes += halving.fail(with: error).map { _ in .failure(error) }
            }
        }
        return committed
    }

    /// Returns the owners whose rows another session holds. The servers of the database hold rows briefly, so a row is looked for twice.
    private func heldOwners(among owners: Set<Digest64>) async -> Set<Digest64> {
        guard !owners.isEmpty else { return [] }
        var held = owners
        for attempt in 1...2 where !held.isEmpty {
            if attempt > 1 { try? await Task.sleep(for: LockLimit.heldInterval) }
            held = (try? await missingOwners(among: held)) ?? []
        }
        knownHeldOwners.withLock { [held] known in known = known.subtracting(owners).union(held) }
        return held
    }

    /// Returns the owners whose rows are locked at this moment.
    private func missingOwners(among owners: Set<Digest64>) async throws -> Set<Digest64> {
        try await pool.perform(.writing) { database in
            let selectOwners = "SELECT key_hash FROM owner WHERE key_hash = ANY($1)"
            let (all, free) = try database.fetch(
                .all(selectOwners, SQLArray(owners)) { try $0.next(Digest64.self) },
                .all("\(selectOwners) FOR UPDATE SKIP LOCKED", SQLArray(owners)) { try $0.next(Digest64.self) })
            return Set(all).subtracting(free)
        }
    }

    /// Returns the session that holds the rows of owners, unless one was looked for a short time ago. A transaction waits for them
    /// meanwhile, because PostgreSQL tells it only then.
    private func holder(of owners: Set<Digest64>) async -> String? {
        guard mayLookForHolder() else { return nil }
        async let waiting: Void? = try? pool.perform(.writing) { database in
            database.add(LockLimit.look)
            database.add("SELECT true FROM owner WHERE key_hash = ANY($1) FOR UPDATE", SQLArray(owners))
        }
        let holder = await holder()
        if holder == nil { holderLookup.withLock { $0 = nil } }
        _ = await waiting
        return holder
    }

    /// Attempts work. If a row is locked, attempts it once more and finds the session that holds the row, unless one was looked for a short
    /// time ago: PostgreSQL tells it only while a transaction waits. The second attempt therefore has the limit of a batch. On a busy
    /// machine the look may come too late. It is then repeated at the next locked row.
    ///
    /// - Parameter isAlone: Whether the work is a single piece, which will not be tried in parts.
    private func namingHolder<Result: Sendable>(
        isAlone: Bool, within limit: Command?, _ attempt: @escaping @Sendable (Command?) async throws -> Result
    ) async throws -> Result {
        do {
            return try await attempt(limit)
        } catch StoreError.rowLocked where isAlone && mayLookForHolder() {
            async let second = attempt(nil)
            let holder = await holder()
            if holder == nil { holderLookup.withLock { $0 = nil } }
            do { return try await second } catch StoreError.rowLocked { throw StoreError.rowLocked(by: holder) }
        }
    }

    /// Returns the session for which a transaction of this program waits; nil if none waits any more.
    private func holder() async -> String? {
        let holders = try? await read { database in
            database.add(LockLimit.holderDelay)
            return try database.fetch([LockLimit.holder])[0].map { PeerText(try $0.next(String.self)).description }
        }
        return holders?.first
    }

    private func mayLookForHolder() -> Bool {
        let now = time.elapsed()
        return holderLookup.withLock { last in
            guard last.map({ now - $0 >= LockLimit.holderInterval }) ?? true else { return false }
            last = now
            return true
        }
    }

    private func attempt<Work: Sendable, Outcome: Sendable>(
        _ work: [Work], within limit: Command?, at now: Timestamp, loading lookups: @escaping @Sendable ([Work]) -> Lookups,
        deciding decide: @escaping @Sendable (Work, inout DecidedBatch) -> Outcome
    ) async throws -> (outcomes: [Outcome], topicChanges: [TopicChange], supersededReplies: [Int64]) {
        let wanted = lookups(work)
        return try await write { [size] transaction in
            if let limit { transaction.database.add(limit) }
            let loaded = try LoadedState(
                transaction, answering: wanted, isStorageFull: { try size.exceeds($0, transaction.database) }, at: now)
            var batch = DecidedBatch(state: loaded.state)
            let outcomes = work.map { decide($0, &batch) }
            let changes = try transaction.apply(batch, loaded, at: now)
            return (outcomes, changes.topics, changes.supersededReplies)
        }
    }
}

extension WriteTransaction {
    /// Writes a decided batch.
    ///
    /// - Returns: The installations that registered and unregistered, and the messages whose replies were superseded.
    fileprivate func apply(
        _ batch: DecidedBatch, _ loaded: LoadedState, at now: Timestamp
    ) throws -> (topics: [TopicChange], supersededReplies: [Int64]) {
        var added: [(registration: Registration, topics: QueryTopics)] = []
        let unloaded = Set(batch.registrations.map(\.installation)).subtracting(loaded.state.lookups.registrations)
        let others = try installations(unloaded)
        func stored(_ installation: Installation) -> StoredInstallation? { loaded.installations[installation] ?? others[installation] }
        for change in batch.registrations {
            switch change {
            case .register(let registration, let topics, let endsPushes):
                if endsPushes { try withdrawPushes(to: registration.installation, at: now) }
                added.append((registration, topics))
            case .unregister(let installation, let version, let plaintextDigest, _):
                try unregister(
                    installation, replacing: stored(installation), version: version, plaintextDigest: plaintextDigest, at: now)
            }
        }
        var rows = try register(added, at: now).makeIterator()
        let changes = batch.registrations.compactMap { change -> TopicChange? in
            switch change {
            case .register(_, let topics, _):
                rows.next().map { .added(ChangedRegistration(registration: $0, topics: topics)) }
            case .unregister(let installation, _, _, let topics):
                stored(installation).flatMap { stored in
                    stored.version.isRegistered ? .removed(ChangedRegistration(registration: stored.row, topics: topics)) : nil
                }
            }
        }
        try enqueue(batch.pushes, loaded: loaded.targets, at: now)
        for deferred in batch.coalesced.values { try rewrite(deferred) }
        count(.accepted, by: batch.coalescedCount)
        count(.coalesced, by: batch.coalescedCount)
        count(.accepted, by: batch.mergedCount)
        count(.merged, by: batch.mergedCount)
        count(.filtered, by: batch.filteredCount)
        try decide(batch.decisions, at: now)
        markPublished(batch.repliedMessages)
        eraseReplies(batch.erasedReplies)
        let supersededReplies = try batch.supersessions.flatMap { try supersede($0.reply, answering: $0.message) }
        return (changes, supersededReplies)
    }

    /// Returns the rows of installations that the lookups do not contain.
    private func installations(_ wanted: Set<Installation>) throws -> [Installation: StoredInstallation] {
        guard !wanted.isEmpty else { return [:] }
        let keyHashes = Set(wanted.map(\.keyHash))
        for lock in Command.lockOwners([], adding: keyHashes) { database.add(lock) }
        let known = try database.fetch(.installations(of: keyHashes))
        return Dictionary(known.map { ($0.installation, $0.stored) }) { first, _ in first }
    }
}

extension DecidedBatch.RegistrationChange {
    fileprivate var installation: Installation {
        switch self {
        case .register(let registration, _, _): registration.installation
        case .unregister(let installation, _, _, _): installation
        }
    }
}
