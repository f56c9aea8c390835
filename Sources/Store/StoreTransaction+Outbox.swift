package import Envelope
import GRDB
package import PushProtocol
package import StatusCrypto
import Wire

/// How a push ended: the number is stored, and written out in the partial index of ``Schema`` (0 is queued).
package enum PushOutcome: Int64, Sendable, CaseIterable {
    case sent = 1
    case expired = 2
    case deadToken = 3
    case refused = 4
    /// Accepted in dry run: never sent.
    case discarded = 5
}

extension StoreTransaction {
    /// Whether a push with that triple entered the outbox at that time or later (PROTOCOL.md §9: 10 minutes).
    package func isRemembered(triple: Digest32, since: Timestamp) throws -> Bool {
        try database.first(
            "SELECT 1 FROM push WHERE triple_prefix = ? AND triple = ? AND accepted_at >= ?", triple.prefix, triple, since
        ) { _ in true } ?? false
    }

    /// Puts a push into the outbox, due at once. A discarded one is final from the start, and none of its secrets is written.
    ///
    /// - Parameter message: the row of the push request.
    package func enqueue(_ push: AcceptedPush, message: Int64, at now: Timestamp, discarded: Bool = false) throws {
        try database.run(
            """
            INSERT INTO push (
                message, state, accepted_at, next_attempt_at, finished_at, attempts, triple_prefix, triple,
                key_hash, installation_id, token_type, type, apn_topic, device_token, chat_id, ciphertext)
            VALUES (?, ?, ?, ?, ?, 0, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            """,
            message, discarded ? PushOutcome.discarded.rawValue : 0, now, now, discarded ? now : nil, push.triple.prefix, push.triple,
            push.target.keyHash, push.target.installationID, Int64(push.tokenType.rawValue), Int64(push.type.rawValue),
            push.apnTopic, discarded ? "" : push.deviceToken, discarded ? [] : push.chatID, discarded ? [] : push.message)
    }

    /// Ends queued pushes; those that have ended keep their first outcome. A finished push keeps no secrets.
    package func finish(_ pushes: [Int64], as outcome: PushOutcome, at now: Timestamp) throws {
        for push in pushes {
            try database.run(
                """
                UPDATE push SET state = ?, finished_at = ?, device_token = '', chat_id = x'', ciphertext = x''
                WHERE id = ? AND state = 0
                """,
                outcome.rawValue, now, push)
        }
    }

    /// Counts an attempt that failed and sets the time of the next one.
    package func postpone(_ pushes: [Int64], until next: Timestamp) throws {
        for push in pushes {
            try database.run("UPDATE push SET attempts = attempts + 1, next_attempt_at = ? WHERE id = ? AND state = 0", next, push)
        }
    }
}
