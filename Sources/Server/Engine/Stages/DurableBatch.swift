import Store

/// What follows from a durable batch of decisions, in the only order that the types allow: ``listen(_:)``, then ``Listening/reply(_:)``.
///
/// Other clients may query a new registration as soon as its owner has the reply, so the server accepts messages on the query topics first.
/// Permits end last, so that the engine never looks idle between a decision and its reply.
struct DurableBatch: ~Copyable {
    let topicChanges: [TopicChange]
    let replies: [PendingReply]
    /// Rows of older replies that these supersede.
    let supersededReplies: [Int64]
    let permits: [SharedPermit]

    /// Adds the topics of new registrations to the directory and removes the topics of unregistered installations.
    consuming func listen(_ directory: TopicDirectory) -> Listening {
        for change in topicChanges {
            switch change {
            case .added(let registration): directory.add(registration: registration.registration, topics: registration.topics)
            case .removed(let registration): directory.remove(registration: registration.registration, topics: registration.topics)
            }
        }
        return Listening(batch: self)
    }

    /// A batch whose replies may be published.
    struct Listening: ~Copyable {
        fileprivate let batch: DurableBatch

        /// Hands on the replies that are not superseded, and ends the permits.
        consuming func reply(_ stage: ReplyStage) {
            let superseded = Set(batch.supersededReplies)
            stage.drop(batch.supersededReplies)
            stage.send(batch.replies.filter { !superseded.contains($0.id) })
            withExtendedLifetime(batch.permits) {}
        }
    }
}
