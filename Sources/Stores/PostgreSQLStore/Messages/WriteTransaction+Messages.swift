import Bytes
import Envelope
import Store
import Wire

extension WriteTransaction {
    /// Stores the decisions about recorded messages and deletes their envelopes.
    ///
    /// - Throws: `alreadyDecided` if a message already has a decision, or another server owns it.
    func decide(_ decisions: [(message: Int64, decision: MessageDecision)], at now: Timestamp) throws {
        guard !decisions.isEmpty else { return }
        var answers: [(message: Int64, reply: Reply)] = []
        var closed: [(message: Int64, state: MessageState, reason: IgnoreReason?)] = []
        for (message, decision) in decisions {
            switch decision {
            case .ignored(let reason): closed.append((message, .ignored, reason))
            case .silent: closed.append((message, .silent, nil))
            case .answered(let reply): answers.append((message, reply))
            }
            count(decision.milestone)
        }
        let replies = try answers.map { message, reply in
            try sealing.seal([reply.payload], in: .reply(to: reply.recipient, message: message))
        }
        let (answeredCount, closedCount) = try database.fetch(
            .run(
                """
                UPDATE message SET
                    state = \(MessageState.answered.rawValue), decided_at = $1, envelope = NULL, pubsub_topic = new.topic,
                    reply_type = new.type, sealed_reply = new.sealed_reply, recipient = new.recipient,
                    status_message_id = new.status_message_id, installation_id = new.installation_id
                FROM unnest($2::int8[], $3::bytea[], $4::int8[], $5::bytea[], $6::bytea[], $7::bytea[], $8::bytea[])
                    AS new (id, topic, type, recipient, status_message_id, installation_id, sealed_reply)
                WHERE message.id = new.id AND \(Self.isUndecided(at: "$9"))
                """,
                now, SQLArray(answers.map(\.message)), SQLArray(answers.map(\.reply.pubsubTopic)), SQLArray(answers.map(\.reply.type)),
                SQLArray(answers.map(\.reply.recipient)), SQLArray(answers.map(\.reply.statusMessageID)),
                SQLArray(answers.map(\.reply.installationID)), SQLArray(replies), server, isNeeded: !answers.isEmpty),
            .run(
                """
                UPDATE message SET
                    state = new.state, is_unfinished = false, decided_at = $1, ignore_reason = new.reason, envelope = NULL,
                    pubsub_topic = NULL
                FROM unnest($2::int8[], $3::int8[], $4::int8[]) AS new (id, state, reason)
                WHERE message.id = new.id AND \(Self.isUndecided(at: "$5"))
                """,
                now, SQLArray(closed.map(\.message)), SQLArray(closed.map(\.state)), SQLArray(closed.map(\.reason)), server,
                isNeeded: !closed.isEmpty))
        guard answeredCount + closedCount == decisions.count else { throw StoreError.alreadyDecided }
    }

    /// The SQL condition for messages of a server without decision.
    ///
    /// A plain conjunction would make the planner expect one such message, and compare each of a long backlog with each decision.
    private static func isUndecided(at server: String) -> String {
        "CASE WHEN message.state = \(MessageState.recorded.rawValue) THEN message.server = \(server) ELSE false END"
    }

    /// Marks older, unpublished responses to registrations of the same installation as superseded.
    ///
    /// The sum keeps PostgreSQL from the index of all messages: without statistics it would read every older message there.
    ///
    /// - Returns: The messages of the superseded responses.
    func supersede(_ reply: Reply, answering message: Int64) throws -> [Int64] {
        try database.all(
            """
            UPDATE message SET is_unfinished = false
            WHERE is_unfinished AND recipient = $1 AND id + 0 < $2 AND reply_type = $3
                AND (installation_id IS NULL OR $4::bytea IS NULL OR installation_id = $4)
            RETURNING id
            """,
            reply.recipient, message, MessageType.pushNotificationRegistrationResponse, reply.installationID
        ) { try $0.next() }
    }

    /// Marks replies as published.
    func markPublished(_ messages: [Int64]) {
        guard !messages.isEmpty else { return }
        database.add(
            "UPDATE message SET is_unfinished = false WHERE id = ANY($1) AND is_unfinished AND state <> \(MessageState.recorded.rawValue)",
            SQLArray(messages.sorted()))
    }

    /// Marks replies as published and erases their content.
    func eraseReplies(_ messages: [Int64]) {
        guard !messages.isEmpty else { return }
        database.add(
            """
            UPDATE message SET
                pubsub_topic = NULL, reply_type = NULL, sealed_reply = NULL, recipient = NULL, status_message_id = NULL,
                installation_id = NULL, is_unfinished = false
            WHERE id = ANY($1) AND state = \(MessageState.answered.rawValue)
            """,
            SQLArray(messages.sorted()))
    }
}
