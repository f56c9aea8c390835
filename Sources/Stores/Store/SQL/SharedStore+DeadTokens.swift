import Bytes
package import Envelope
import PushProtocol
import Wire

extension SharedStore {
    package func deadRegistrations(limit: Int) async throws -> [DeadRegistration] {
        try await reading { [damagedRows] database in
            var damaged: [Int64] = []
            let found = try database.all(
                """
                SELECT id, died_at, reason, route, key_hash, plaintext_digest, secrets FROM dead_registration
                ORDER BY id DESC LIMIT $1
                """,
                limit
            ) { row in
                let id: Int64 = try row.next()
                return try row.readable(id, or: &damaged) { row in
                    let (diedAt, reason): (Timestamp, String) = (try row.next(), try row.next())
                    let (route, registration): (String, Registration) = (try row.next(), try row.deadRegistration(sealing))
                    return DeadRegistration(
                        id: id, diedAt: diedAt, reason: reason, route: route, installation: registration.installation,
                        version: registration.content.version)
                }
            }
            damagedRows.note(damaged, of: "dead_registration")
            return found.compactMap(\.self)
        }
    }

    package func restoreDeadRegistrations(_ ids: [Int64]?, at now: Timestamp) async throws -> [ChangedRegistration] {
        try await writing { transaction in
            let database = transaction.database
            let ids = try ids ?? database.all("SELECT id FROM dead_registration") { try $0.next() }
            var damaged: [Int64] = []
            defer { transaction.damagedRows.note(damaged, of: "dead_registration") }
            return try ids.compactMap { id in
                // A copy that cannot be read stays in the list, and the others are restored.
                let dead =
                    try database.first(
                        "SELECT key_hash, plaintext_digest, secrets, plain_topic, prefixed_topic FROM dead_registration WHERE id = $1", id
                    ) { row in
                        try row.readable(id, or: &damaged) {
                            (registration: try $0.deadRegistration(transaction.sealing), topics: try $0.nextTopics())
                        }
                    } ?? nil
                guard let (registration, topics) = dead else { return nil }
                try database.add("DELETE FROM dead_registration WHERE id = $1", id)
                let installation = registration.installation
                try transaction.lockOwner(installation.keyHash)
                let stored = try database.installations(of: installation.keyHash).first { $0.installation == installation }?.stored
                guard let stored, !stored.version.isRegistered, stored.version.version == registration.content.version else { return nil }
                let row = try transaction.register(registration, replacing: stored, topics: topics, at: now)
                return ChangedRegistration(registration: row, topics: topics)
            }
        }
    }
}

extension SQLDatabase {
    /// Returns all installations of a key, also those that have unregistered.
    func installations(of keyHash: Digest64) throws -> [(installation: Installation, stored: StoredInstallation)] {
        try all(
            """
            SELECT key_hash, installation_id, id, version, plaintext_digest, is_live, was_registered FROM registration
            WHERE \(Self.dialect.isOfKey)
            """,
            keyHash, keyHash.prefix
        ) { row in
            let (installation, id) = (try row.nextInstallation(), try row.next(Int64.self))
            return (installation, StoredInstallation(row: id, version: try row.nextVersion(), wasRegistered: try row.next()))
        }
    }
}

extension SQLRow {
    /// Reads the copy of a registration from the columns `key_hash`, `plaintext_digest` and `secrets`.
    fileprivate mutating func deadRegistration(_ sealing: RowSealing) throws -> Registration {
        let (keyHash, digest): (Digest64, Digest32) = (try next(), try next())
        let content: PushNotificationRegistration = try nextMessage(sealing, in: .deadRegistration(of: keyHash, digest: digest))
        return Registration(keyHash: keyHash, content: content, plaintextDigest: digest)
    }
}
