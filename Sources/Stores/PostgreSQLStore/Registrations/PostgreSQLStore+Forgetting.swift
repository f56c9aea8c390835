import Bytes
package import Envelope
import PushProtocol
package import StatusCrypto
package import Store

extension PostgreSQLStore {
    package func forget(_ key: PublicKey, at now: Timestamp) async throws -> Forgotten {
        try await write { try $0.forget(key, at: now) }
    }
}

extension WriteTransaction {
    fileprivate func forget(_ key: PublicKey, at now: Timestamp) throws -> Forgotten {
        let keyHash = key.hash
        var forgotten = Forgotten()
        let results = try database.fetch(Command.lockOwners([keyHash], adding: []) + [Command.installations(of: [keyHash])])
        let installations = try results.last?.map { try $0.nextInstallationState() } ?? []
        for (installation, stored, _) in installations where stored.version.isRegistered {
            try unregister(
                installation, replacing: stored, version: stored.version.version, plaintextDigest: stored.version.plaintextDigest, at: now)
            forgotten.registrationCount += 1
        }
        forgotten.tombstoneCount = installations.count
        database.add("DELETE FROM topic_key WHERE key_hash = $1", keyHash)
        forgotten.deadRegistrationCount = try database.run("DELETE FROM dead_registration WHERE key_hash = $1", keyHash)
        database.add("UPDATE push SET server = $1 WHERE key_hash = $2 AND \(OpenPushes.ofTarget)", server, keyHash)
        let open = try database.all("SELECT id FROM push WHERE key_hash = $1 AND \(OpenPushes.ofTarget)", keyHash) {
            try $0.next(Int64.self)
        }
        try finish(open.map { ($0, .withdrawn, .forgotten, nil) }, at: now)
        // The rows stay for the audit without the key.
        forgotten.pushCount = try database.run(
            """
            UPDATE push SET
                key_hash = decode(repeat('00', 64), 'hex'), installation_id = '', apn_topic = '',
                deduplication_key = decode(repeat('00', 32), 'hex'), registration = NULL
            WHERE key_hash = $1
            """,
            keyHash)
        forgotten.replyCount = try database.run(
            """
            UPDATE message SET
                pubsub_topic = NULL, reply_type = NULL, sealed_reply = NULL, recipient = NULL, status_message_id = NULL,
                installation_id = NULL, is_unfinished = false
            WHERE recipient = $1
            """,
            key.compressed)
        return forgotten
    }
}
