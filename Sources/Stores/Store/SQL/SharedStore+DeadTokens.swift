import Bytes
package import Envelope
import PushProtocol
import Wire

extension SharedStore {
    package func deadRegistrations(limit: Int) async throws -> [DeadRegistration] {
        try await reading { database in
            try database.rows(
                """
                SELECT id, died_at, reason, route, key_hash, plaintext_digest, secrets FROM dead_registration
                ORDER BY id DESC LIMIT $1
                """,
                limit
            ) { row in
                let (id, diedAt, reason): (Int64, Timestamp, String) = (try row.value(), try row.value(), try row.value())
                let (route, registration): (String, Registration) = (try row.value(), try row.deadRegistration(sealing))
                return DeadRegistration(
                    id: id, diedAt: diedAt, reason: reason, route: route, installation: registration.installation,
                    version: registration.content.version)
            }
        }
    }

    package func restoreDeadRegistrations(_ ids: [Int64]?, at now: Timestamp) async throws -> [ChangedRegistration] {
        try await writing { transaction in
            let database = transaction.database
            let ids = try ids ?? database.rows("SELECT id FROM dead_registration") { try $0.value() }
            return try ids.compactMap { id in
                let dead = try database.firstRow(
                    """
                    DELETE FROM dead_registration WHERE id = $1
                    RETURNING key_hash, plaintext_digest, secrets, plain_topic, prefixed_topic
                    """,
                    id
                ) { (registration: try $0.deadRegistration(transaction.sealing), topics: try $0.topics()) }
                guard let (registration, topics) = dead else { return nil }
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

extension SharedTransaction {
    /// Returns all installations of a key, also those that have unregistered.
    func installations(of keyHash: Digest64) throws -> [(installation: Installation, stored: StoredInstallation)] {
        try rows(
            """
            SELECT key_hash, installation_id, id, version, plaintext_digest, is_live, was_registered FROM registration
            WHERE \(Self.dialect.isOfKey)
            """,
            keyHash, keyHash.prefix
        ) { row in
            let (installation, id) = (try row.installation(), try row.value(Int64.self))
            let version = StoredVersion(version: try row.version(), plaintextDigest: try row.value(), isRegistered: try row.value())
            return (installation, StoredInstallation(row: id, version: version, wasRegistered: try row.value()))
        }
    }
}

extension SharedRow {
    /// Reads the copy of a registration from the columns `key_hash`, `plaintext_digest` and `secrets`.
    fileprivate mutating func deadRegistration(_ sealing: RowSealing) throws -> Registration {
        let (keyHash, digest): (Digest64, Digest32) = (try value(), try value())
        let content: PushNotificationRegistration = try message(sealing, in: .deadRegistration(of: keyHash, digest: digest))
        return Registration(keyHash: keyHash, content: content, plaintextDigest: digest)
    }

    /// Reads query topics from the next two columns.
    mutating func topics() throws -> QueryTopics { QueryTopics(plain: try value(), prefixed: try value()) }
}
