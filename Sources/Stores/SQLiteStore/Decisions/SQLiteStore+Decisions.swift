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
            let loaded = try LoadedState(transaction, answering: part.count == work.count ? all : lookups(part), at: now)
            var batch = DecidedBatch(state: loaded.state)
            let outcomes = part.map { decide($0, &batch) }
            return (outcomes: outcomes, changes: try transaction.apply(batch, loaded, at: now))
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

extension WriteTransaction {
    /// Writes a decided batch.
    ///
    /// - Returns: The installations that registered and unregistered, and the messages whose replies were superseded.
    func apply(
        _ batch: DecidedBatch, _ loaded: LoadedState, at now: Timestamp
    ) throws -> (topics: [TopicChange], supersededReplies: [Int64]) {
        var topicChanges: [TopicChange] = []
        for change in batch.registrations {
            switch change {
            case .register(let registration, let topics, let endsPushes):
                if endsPushes { try withdrawPushes(to: registration.installation, at: now) }
                let stored = try loaded.stored(registration.installation, in: database)
                let row = try register(registration, replacing: stored, topics: topics, at: now)
                topicChanges.append(.added(ChangedRegistration(registration: row, topics: topics)))
            case .unregister(let installation, let version, let plaintextDigest, let topics):
                let stored = try loaded.stored(installation, in: database)
                try unregister(installation, replacing: stored, version: version, plaintextDigest: plaintextDigest, at: now)
                if let stored, stored.version.isRegistered {
                    topicChanges.append(.removed(ChangedRegistration(registration: stored.row, topics: topics)))
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
        try markPublished(batch.repliedMessages)
        try eraseReplies(batch.erasedReplies)
        let supersededReplies = try batch.supersessions.flatMap { try supersede($0.reply, answering: $0.message) }
        return (topicChanges, supersededReplies)
    }
}
