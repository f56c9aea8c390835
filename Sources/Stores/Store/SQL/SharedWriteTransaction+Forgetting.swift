import Bytes
package import Envelope
import PushProtocol
package import StatusCrypto

extension SharedWriteTransaction {
    package func forget(_ key: PublicKey, at now: Timestamp) throws -> Forgotten {
        let keyHash = key.hash
        var forgotten = Forgotten()
        try lockOwner(keyHash)
        let installations = try database.installations(of: keyHash)
        for (installation, stored) in installations where stored.version.isRegistered {
            try unregister(
                installation, replacing: stored, version: stored.version.version, plaintextDigest: stored.version.plaintextDigest, at: now)
            forgotten.registrationCount += 1
        }
        forgotten.tombstoneCount = installations.count
        let dialect = Database.dialect
        try database.add("DELETE FROM topic_key WHERE \(dialect.isOfKey)", keyHash, keyHash.prefix)
        forgotten.deadRegistrationCount = try database.run("DELETE FROM dead_registration WHERE key_hash = $1", keyHash)
        try withdrawPushes(toOwner: keyHash, at: now)
        // The rows stay for the audit without the key.
        forgotten.pushCount = try database.run(
            """
            UPDATE push SET
                key_hash = $2, installation_id = '', apn_topic = '', \(dialect.hasPrefixes ? "deduplication_prefix = 0," : "")
                deduplication_key = $3, registration = NULL
            WHERE key_hash = $1
            """,
            keyHash, Digest64(), Digest32())
        forgotten.replyCount = try eraseReplies(to: key.compressed)
        return forgotten
    }
}
