import Bytes
package import Envelope
import GRDB
import PushProtocol
import StatusCrypto
package import Store

extension SQLiteStore {
    package func commit<Work: Sendable, Outcome: Sendable>(
        _ work: [Work], at now: Timestamp, loading lookups: @escaping @Sendable ([Work]) -> Lookups,
        deciding decide: @escaping @Sendable (Work, inout DecidedBatch) -> Outcome
    ) async -> Committed<Outcome> {
        // The lookups are determined here, before the writer's turn, to save time on the writer.
        let all = lookups(work)
        let results = await queue.perform(on: work) { part, transaction in
            let known = try KnownFacts(transaction, answering: part.count == work.count ? all : lookups(part), at: now)
            var batch = DecidedBatch(facts: known.facts)
            let outcomes = part.map { decide($0, &batch) }
            return (outcomes: outcomes, changes: try transaction.apply(batch, known: known, at: now))
        }
        var committed = Committed<Outcome>(outcomes: [], topicChanges: [])
        for (count, result) in results {
            switch result {
            case .success(let part):
                committed.outcomes += part.outcomes.map { .success($0) }
                committed.topicChanges += part.changes.topics
                committed.supersededReplies += part.changes.supersededReplies
            case .failure(let error):
                committed.outcomes += repeatElement(.failure(error), count: count)
            }
        }
        return committed
    }
}

/// The facts for a batch, and the rows that they were read from.
struct KnownFacts {
    private(set) var facts: Facts
    private var installations: [Installation: StoredInstallation] = [:]
    private(set) var targets: [Installation: PushTargetRow] = [:]

    init(_ transaction: WriteTransaction, answering lookups: Lookups, at now: Timestamp) throws {
        facts = Facts(answering: lookups)
        let database = transaction.database
        var damaged: [Int64] = []
        for installation in lookups.registrations {
            let stored = try database.stored(installation)
            installations[installation] = stored
            facts.versions[installation] = stored?.version
            if facts.installations[installation.keyHash] == nil {
                facts.installations[installation.keyHash] = try database.installations(of: installation.keyHash)
            }
        }
        if !lookups.registrations.isEmpty { facts.isStorageFull = try database.isFull(above: lookups.maximumStoredByteCount) }
        for (installation, entries) in lookups.targets {
            guard let (row, target) = try transaction.pushTarget(installation, loading: entries) else { continue }
            guard let target else {
                damaged.append(row.row)
                continue
            }
            facts.targets[installation] = target
            targets[installation] = row
        }
        let oldest = now.advanced(by: .zero - ProtocolLimits.deduplicationLifetime)
        for deduplicationKey in lookups.deduplicationKeys where try database.isQueued(deduplicationKey, since: oldest, at: now) {
            facts.recentDeduplicationKeys.insert(deduplicationKey)
        }
        for target in lookups.rateLimitedTargets {
            let deferred = try database.deferredPushes(to: target, at: lookups.allowances.now, transaction.sealing)
            facts.deferredPushes.merge(deferred) { first, _ in first }
        }
        for request in lookups.requests { facts.responses[request] = try database.response(to: request, transaction.sealing) }
        for query in lookups.queries { try read(query, or: &damaged, from: transaction) }
        try transaction.setAside(damaged, .registration)
    }

    /// Returns the row of an installation as it was before the batch. Reads it if the lookups do not contain it.
    func stored(_ installation: Installation, in database: Database) throws -> StoredInstallation? {
        facts.lookups.registrations.contains(installation) ? installations[installation] : try database.stored(installation)
    }

    /// Reads the registrations of the queried keys in order, until the response has no capacity for more.
    private mutating func read(_ query: [Digest64], or damaged: inout [Int64], from transaction: WriteTransaction) throws {
        var budget = QueryBudget()
        for keyHash in query {
            let sizes = try transaction.database.allowedKeyByteCounts(of: keyHash)
            guard let rows = budget.choose(among: sizes, credits: facts.lookups.allowances.answerByteCount(of: keyHash)) else { return }
            guard facts.queryable[keyHash] == nil else { continue }
            facts.queryable[keyHash] = try rows.compactMap {
                try transaction.database.queryableRegistration($0, or: &damaged, transaction.sealing)
            }
        }
    }
}

extension WriteTransaction {
    /// Writes a decided batch.
    ///
    /// - Returns: The installations that registered and unregistered, and the messages whose replies were superseded.
    func apply(
        _ batch: DecidedBatch, known: KnownFacts, at now: Timestamp
    ) throws -> (topics: [TopicChange], supersededReplies: [Int64]) {
        var topicChanges: [TopicChange] = []
        for change in batch.registrations {
            switch change {
            case .register(let registration, let topics, let endsPushes):
                if endsPushes { try withdrawPushes(to: registration.installation, at: now) }
                let stored = try known.stored(registration.installation, in: database)
                let row = try register(registration, replacing: stored, topics: topics, at: now)
                topicChanges.append(.added(ChangedRegistration(registration: row, topics: topics)))
            case .unregister(let installation, let version, let plaintextDigest, let topics):
                let stored = try known.stored(installation, in: database)
                try unregister(installation, replacing: stored, version: version, plaintextDigest: plaintextDigest, at: now)
                if let stored, stored.version.isRegistered {
                    topicChanges.append(.removed(ChangedRegistration(registration: stored.row, topics: topics)))
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
        try markPublished(batch.repliedMessages)
        try eraseReplies(batch.erasedReplies)
        let supersededReplies = try batch.supersessions.flatMap { try supersede($0.reply, answering: $0.message) }
        return (topicChanges, supersededReplies)
    }
}
