package import Envelope
import GRDB
package import PushProtocol
import Wire

/// A push that waits in the outbox.
package struct QueuedPush: Sendable, Equatable {
    package var id: Int64
    /// The row of the push request it came with.
    package var message: Int64
    package var push: AcceptedPush
    package var acceptedAt: Timestamp
    /// Attempts that failed so far.
    package var attempts: Int

    package init(id: Int64, message: Int64, push: AcceptedPush, acceptedAt: Timestamp, attempts: Int) {
        self.id = id
        self.message = message
        self.push = push
        self.acceptedAt = acceptedAt
        self.attempts = attempts
    }
}

extension PushStore {
    /// Pushes whose next attempt is due, the longest due first. Those under way are among them: nothing is leased here.
    package func duePushes(at now: Timestamp, limit: Int) async throws -> [QueuedPush] {
        try await read { database in
            try database.all(
                """
                SELECT id, message, accepted_at, attempts, triple, key_hash, installation_id, token_type, type, apn_topic,
                    device_token, chat_id, ciphertext
                FROM push WHERE state = 0 AND next_attempt_at <= ? ORDER BY next_attempt_at, id LIMIT ?
                """,
                now, Int64(limit)
            ) { row in
                let push = AcceptedPush(
                    target: Installation(keyHash: try row.fixedBytes(5), installationID: row.text(6)),
                    triple: try row.fixedBytes(4), tokenType: TokenType(rawValue: Int32(truncatingIfNeeded: row.integer(7))),
                    deviceToken: row.text(10), apnTopic: row.text(9),
                    type: PushNotificationType(rawValue: Int32(truncatingIfNeeded: row.integer(8))),
                    chatID: row.bytes(11), message: row.bytes(12))
                return QueuedPush(
                    id: row.integer(0), message: row.integer(1), push: push, acceptedAt: row.timestamp(2),
                    attempts: Int(row.integer(3)))
            }
        }
    }

    /// ``StoreTransaction/finish(_:as:at:)`` in a commit of its own.
    package func finish(_ pushes: [Int64], as outcome: PushOutcome, at now: Timestamp) async throws {
        try await commit { try $0.finish(pushes, as: outcome, at: now) }
    }

    /// ``StoreTransaction/postpone(_:until:)`` in a commit of its own.
    package func postpone(_ pushes: [Int64], until next: Timestamp) async throws {
        try await commit { try $0.postpone(pushes, until: next) }
    }

    /// How many pushes wait in the outbox.
    package func queuedPushCount() async throws -> Int {
        try await read { try $0.count("SELECT count(*) FROM push WHERE state = 0") }
    }

    /// When the push was accepted that has waited longest; nil when none waits.
    package func oldestQueuedPush() async throws -> Timestamp? {
        try await read { database in
            try database.first("SELECT min(accepted_at) FROM push WHERE state = 0") { $0.isNull(0) ? nil : $0.timestamp(0) } ?? nil
        }
    }
}
