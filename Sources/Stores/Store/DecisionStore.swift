package import Envelope

/// The store as the decider uses it: it loads facts and writes decisions.
package protocol DecisionStore: Sendable {
    /// Loads facts, passes them to `decide` for each piece of work in order, and writes the decisions, all in a single transaction.
    ///
    /// If the transaction fails, the store finds the pieces that fail alone, so that the rest can succeed (``Halving``).
    ///
    /// - Parameters:
    ///   - lookups: Returns the lookups that deciding these pieces needs.
    ///   - decide: Decides a piece from ``DecidedBatch/facts`` and adds the decision to the batch. It must not do anything else, because
    ///     the store may call it again.
    func commit<Work: Sendable, Outcome: Sendable>(
        _ work: [Work], at now: Timestamp, loading lookups: @escaping @Sendable ([Work]) -> Lookups,
        deciding decide: @escaping @Sendable (Work, inout DecidedBatch) -> Outcome
    ) async -> Committed<Outcome>
}

/// What a commit returns.
package struct Committed<Outcome: Sendable>: Sendable {
    /// For each piece of work, in order: the durable decision, or the error that prevented it.
    package var outcomes: [Result<Outcome, any Error>]
    /// The installations that registered and unregistered, in order.
    package var topicChanges: [TopicChange]
    /// The messages whose unpublished reply was superseded (``DecidedBatch/supersede(_:answering:)``).
    package var supersededReplies: [Int64]

    package init(outcomes: [Result<Outcome, any Error>], topicChanges: [TopicChange], supersededReplies: [Int64] = []) {
        self.outcomes = outcomes
        self.topicChanges = topicChanges
        self.supersededReplies = supersededReplies
    }
}

/// A change to the topics that the server subscribes to.
package enum TopicChange: Sendable, Equatable {
    case added(ChangedRegistration)
    case removed(ChangedRegistration)
}

extension DecisionStore {
    /// Writes a single decision.
    ///
    /// - Parameter lookups: The lookups that `decide` needs.
    /// - Returns: The installations that registered and unregistered, in order.
    /// - Throws: `StoreError` if the transaction failed.
    @discardableResult
    package func apply(
        at now: Timestamp, loading lookups: Lookups = Lookups(), _ decide: @escaping @Sendable (inout DecidedBatch) -> Void
    ) async throws -> [TopicChange] {
        let committed = await commit([()], at: now, loading: { _ in lookups }, deciding: { decide(&$1) })
        for outcome in committed.outcomes { try outcome.get() }
        return committed.topicChanges
    }
}
