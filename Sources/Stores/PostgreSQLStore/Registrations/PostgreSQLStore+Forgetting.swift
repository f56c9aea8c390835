package import Bytes
package import Envelope
package import StatusCrypto
package import Store

extension PostgreSQLStore {
    package func forget(_ key: PublicKey, at now: Timestamp) async throws -> Forgotten {
        try await write { try $0.forget(key, at: now) }
    }
}

extension WriteTransaction {
    package func withdrawPushes(toOwner keyHash: Digest64, at now: Timestamp) throws {
        database.add("UPDATE push SET server = $1 WHERE key_hash = $2 AND \(OpenPushes.ofTarget)", server, keyHash)
        let open = try database.all("SELECT id FROM push WHERE key_hash = $1 AND \(OpenPushes.ofTarget)", keyHash) {
            try $0.next(Int64.self)
        }
        try finish(open, as: .withdrawn, reason: .forgotten, at: now)
    }

    package func eraseReplies(to recipient: FixedBytes<33>) throws -> Int {
        try database.run(
            """
            UPDATE message SET
                pubsub_topic = NULL, reply_type = NULL, sealed_reply = NULL, recipient = NULL, status_message_id = NULL,
                installation_id = NULL, is_unfinished = false
            WHERE recipient = $1
            """,
            recipient)
    }
}
