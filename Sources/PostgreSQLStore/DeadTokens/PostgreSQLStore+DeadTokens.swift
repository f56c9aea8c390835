package import Envelope
import PushProtocol
package import StatusCrypto
package import Store
import Wire

extension PostgreSQLStore {
    package func suspicions(against tokens: [Digest32]) async throws -> [Digest32: Timestamp] {
        guard !tokens.isEmpty else { return [:] }
        return try await read { database in
            let rows = try database.all(
                "SELECT token_digest, suspected_at FROM suspect_token WHERE token_digest = ANY($1)", SQLArray(tokens)
            ) { (try $0.next(Digest32.self), try $0.next(Timestamp.self)) }
            return Dictionary(rows) { first, _ in first }
        }
    }

    package func deadRegistrations(limit: Int) async throws -> [DeadRegistration] {
        try await read { database in
            try database.all(
                "SELECT id, died_at, reason, route, key_hash, content FROM dead_registration ORDER BY id DESC LIMIT $1", limit
            ) { row in
                let (id, diedAt, reason): (Int64, Timestamp, String) = (try row.next(), try row.next(), try row.next())
                let (route, keyHash): (String, Digest64) = (try row.next(), try row.next())
                let content = try row.nextMessage(PushNotificationRegistration.self)
                return DeadRegistration(
                    id: id, diedAt: diedAt, reason: reason, route: route,
                    installation: Installation(keyHash: keyHash, installationID: content.installationID), version: content.version)
            }
        }
    }

    package func restoreDeadRegistrations(_ ids: [Int64]?, at now: Timestamp) async throws -> [ChangedRegistration] {
        try await write { transaction in
            let database = transaction.database
            let ids = try ids ?? database.all("SELECT id FROM dead_registration") { try $0.next() }
            return try ids.compactMap { id in
                let dead = try database.first(
                    """
                    DELETE FROM dead_registration WHERE id = $1
                    RETURNING key_hash, content, plaintext_digest, plain_topic, prefixed_topic
                    """,
                    id
                ) { row in
                    (
                        registration: Registration(
                            keyHash: try row.next(), content: try row.nextMessage(), plaintextDigest: try row.next()),
                        topics: try row.nextTopics()
                    )
                }
                guard let dead else { return nil }
                let installation = dead.registration.installation
                let results = try database.fetch(
                    Command.lockOwners([installation.keyHash], adding: []) + [Command.installations(of: [installation.keyHash])])
                let stored = try results.last?.map { try $0.nextInstallationState() }.first { $0.0 == installation }?.1
                guard let stored, !stored.version.isRegistered, stored.version.version == dead.registration.content.version else {
                    return nil
                }
                let row = try transaction.register([(dead.registration, dead.topics)], at: now)[0]
                return ChangedRegistration(registration: row, topics: dead.topics)
            }
        }
    }
}

extension WriteTransaction {
    /// Applies a change of a device token.
    ///
    /// - Returns: The registrations that were removed with the token.
    func apply(_ change: OutboxUpdate.TokenChange, at now: Timestamp) throws -> [ChangedRegistration] {
        switch change {
        case .suspect(let token):
            database.add(
                """
                INSERT INTO suspect_token (token_digest, suspected_at, tried_at) VALUES ($1, $2, $2)
                ON CONFLICT (token_digest) DO UPDATE SET tried_at = excluded.tried_at
                """,
                token, now)
            return []
        case .tried(let token):
            database.add("UPDATE suspect_token SET tried_at = $1 WHERE token_digest = $2", now, token)
            return []
        case .clearSuspicion(let token):
            database.add("DELETE FROM suspect_token WHERE token_digest = $1", token)
            return []
        case .delivered(let target):
            try addDelivery(to: target, at: now)
            return []
        case .deliveredToken(let token):
            database.add(
                """
                INSERT INTO proven_token (token_digest, delivered_at) VALUES ($1, $2)
                ON CONFLICT (token_digest) DO UPDATE SET delivered_at = excluded.delivered_at
                """,
                token, now)
            return []
        case .unregister(let token):
            try removeNextcloudDevices(token, at: now)
            return try unregister(token, at: now)
        }
    }

    private func unregister(_ token: DeadToken, at now: Timestamp) throws -> [ChangedRegistration] {
        let dead = try database.all(
            """
            \(Self.selectRegistration)
            WHERE substr(device_token, 1, 16) = substr($1::bytea, 1, 16) AND is_live
                AND device_token = $1 AND token_type = $2 AND (apn_topic = $3 OR token_type <> \(TokenType.apn.rawValue))
                AND CASE WHEN id = $4 THEN version = $5 ELSE updated_at < $6 END
            FOR UPDATE
            """,
            token.token, token.type, token.apnTopic, token.tried?.row, token.tried?.version, token.attemptedAt
        ) { try $0.nextLiveRegistration() }
        for registration in dead { try unregister(registration, reason: token.reason, route: token.route, at: now) }
        return dead.map(\.changed)
    }

    /// Unregisters installations without registration and delivery since a time.
    ///
    /// - Parameter rows: The rows to examine.
    func unregister(unusedSince oldest: Timestamp, among rows: ClosedRange<Int64>, at now: Timestamp) throws -> [ChangedRegistration] {
        let unused = try database.all(
            """
            \(Self.selectRegistration)
            WHERE id BETWEEN $1 AND $2 AND is_live AND updated_at < $3 AND coalesce(delivered_at, 0) < $3 ORDER BY id FOR UPDATE
            """,
            rows.lowerBound, rows.upperBound, oldest
        ) { try $0.nextLiveRegistration() }
        for registration in unused { try unregister(registration, reason: "unused", route: "", at: now) }
        return unused.map(\.changed)
    }

    /// Unregisters an installation and stores a copy of its registration, from which the operator can restore it.
    private func unregister(_ live: LiveRegistration, reason: String, route: String, at now: Timestamp) throws {
        let registration = live.registration
        database.add(
            """
            INSERT INTO dead_registration (died_at, reason, route, plain_topic, prefixed_topic, key_hash, plaintext_digest, content)
            VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
            """,
            now, reason, route, live.changed.topics.plain, live.changed.topics.prefixed, registration.keyHash,
            registration.plaintextDigest, registration.content.encoded())
        let version = StoredVersion(
            version: registration.content.version, plaintextDigest: registration.plaintextDigest, isRegistered: true)
        try unregister(
            registration.installation, replacing: StoredInstallation(row: live.changed.registration, version: version),
            version: version.version, plaintextDigest: version.plaintextDigest, at: now)
    }

    private static let selectRegistration = """
        SELECT id, plain_topic, prefixed_topic, key_hash, plaintext_digest, chat_lists, allowed_keys, installation_id, version, token_type,
            enabled, allow_from_contacts_only, block_mentions, access_token, device_token, apn_topic, grant_signature
        FROM registration
        """
}

/// A registration with its row and topics.
private typealias LiveRegistration = (changed: ChangedRegistration, registration: Registration)

extension RowCursor {
    /// Reads a registration from the columns of `selectRegistration`.
    fileprivate mutating func nextLiveRegistration() throws -> LiveRegistration {
        let changed = ChangedRegistration(registration: try next(), topics: try nextTopics())
        let (keyHash, digest): (Digest64, Digest32) = (try next(), try next())
        var content = try nextMessage(PushNotificationRegistration.self)
        content.allowedKeyList = try nextMessage(PushNotificationRegistration.self).allowedKeyList
        content.installationID = try next()
        content.version = try next()
        content.tokenType = try next()
        content.enabled = try next()
        content.allowFromContactsOnly = try next()
        content.blockMentions = try next()
        content.accessToken = try next()
        content.deviceToken = try next()
        content.apnTopic = try next()
        content.grant = try next()
        return (changed, Registration(keyHash: keyHash, content: content, plaintextDigest: digest))
    }
}
