import Envelope

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
