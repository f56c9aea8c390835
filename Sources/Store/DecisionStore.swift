package import Envelope

/// Where the rules meet what is stored.
package protocol DecisionStore: Sendable {
    /// Finds what is known, lets pieces of work be decided one after another, and writes what was decided: all in one transaction.
    ///
    /// If that fails, each piece is tried in a transaction of its own: none holds up the others.
    ///
    /// - Parameters:
    ///   - questions: what has to be known to decide these pieces.
    ///   - decide: decides a piece against ``DecidedBatch/facts`` and says there what is to be written. Pure: it may be called again.
    func commit<Work: Sendable, Outcome: Sendable>(
        _ work: [Work], at now: Timestamp, asking questions: @escaping @Sendable ([Work]) -> Questions,
        deciding decide: @escaping @Sendable (Work, inout DecidedBatch) -> Outcome
    ) async -> Committed<Outcome>
}

/// What came of pieces of work.
package struct Committed<Outcome: Sendable>: Sendable {
    /// In the order of the work: what was decided, now that it is durable; or why it could not be written.
    package var outcomes: [Result<Outcome, any Error>]
    /// Which installations came and went, in order.
    package var topicChanges: [TopicChange]
    /// Messages whose reply is not to go out any more (``DecidedBatch/supersede(_:answering:)``).
    package var supersededReplies: [Int64]

    package init(outcomes: [Result<Outcome, any Error>], topicChanges: [TopicChange], supersededReplies: [Int64] = []) {
        self.outcomes = outcomes
        self.topicChanges = topicChanges
        self.supersededReplies = supersededReplies
    }
}

package enum TopicChange: Sendable, Equatable {
    case added(ChangedRegistration)
    case removed(ChangedRegistration)
}

extension DecisionStore {
    /// Writes what is decided already.
    @discardableResult
    package func apply(
        at now: Timestamp, asking questions: Questions = Questions(), _ decide: @escaping @Sendable (inout DecidedBatch) -> Void
    ) async throws -> [TopicChange] {
        let committed = await commit([()], at: now, asking: { _ in questions }, deciding: { decide(&$1) })
        for outcome in committed.outcomes { try outcome.get() }
        return committed.topicChanges
    }
}
