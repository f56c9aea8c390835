import Bytes
package import Envelope
import PushProtocol
package import Store
import Synchronization

extension PostgreSQLStore {
    package func commit<Work: Sendable, Outcome: Sendable>(
        _ work: [Work], at now: Timestamp, loading lookups: @escaping @Sendable ([Work]) -> Lookups,
        deciding decide: @escaping @Sendable (Work, inout DecidedBatch) -> Outcome
    ) async -> Committed<Outcome> {
        var committed = Committed<Outcome>(outcomes: [], topicChanges: [])
        var halving = Halving(count: work.count)
        while let positions = halving.next {
            let pieces = Array(work[positions])
            do {
                let limit = positions.count < work.count ? LockLimit.part : nil
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
            let known = try KnownFacts(
                transaction, answering: wanted, isStorageFull: { try size.exceeds($0, transaction.database) }, at: now)
            var batch = DecidedBatch(facts: known.facts)
            let outcomes = work.map { decide($0, &batch) }
            let changes = try transaction.apply(batch, known: known, at: now)
            return (outcomes, changes.topics, changes.supersededReplies)
        }
    }
}

extension WriteTransaction {
    /// Writes a decided batch.
    ///
    /// - Returns: The installations that registered and unregistered, and the messages whose replies were superseded.
    fileprivate func apply(
        _ batch: DecidedBatch, known: KnownFacts, at now: Timestamp
    ) throws -> (topics: [TopicChange], supersededReplies: [Int64]) {
        var added: [(registration: Registration, topics: QueryTopics)] = []
        let unloaded = Set(batch.registrations.map(\.installation)).subtracting(known.facts.lookups.registrations)
        let others = try installations(unloaded)
        func stored(_ installation: Installation) -> StoredInstallation? { known.installations[installation] ?? others[installation] }
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
        try enqueue(batch.pushes, loaded: known.targets, at: now)
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
        let results = try database.fetch(Command.lockOwners([], adding: keyHashes) + [Command.installations(of: keyHashes)])
        let rows = try results.last?.map { try $0.nextInstallationState() } ?? []
        return Dictionary(rows.map { ($0.0, $0.1) }) { first, _ in first }
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
