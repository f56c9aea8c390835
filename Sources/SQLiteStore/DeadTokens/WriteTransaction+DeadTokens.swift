import Envelope
import GRDB
import PushProtocol
import StatusCrypto
import Store
import Wire

extension WriteTransaction {
    /// Writes what becomes of a device token.
    ///
    /// - Returns: the registrations that went with it.
    func apply(_ change: OutboxUpdate.TokenChange, at now: Timestamp) throws -> [ChangedRegistration] {
        switch change {
        case .suspect(let token):
            try database.run("INSERT OR IGNORE INTO suspect_token (token_digest, suspected_at) VALUES (?, ?)", token, now)
            return []
        case .clearSuspicion(let token):
            try database.run("DELETE FROM suspect_token WHERE token_digest = ?", token)
            return []
        case .delivered(let target):
            try database.run(
                "UPDATE registration SET delivered_at = ? WHERE id = ? AND is_live = 1 AND version = ?", now, target.row, target.version)
            return []
        case .unregister(let token):
            try removeNextcloudDevices(token, at: now)
            return try unregister(token, at: now)
        }
    }

    private func unregister(_ token: DeadToken, at now: Timestamp) throws -> [ChangedRegistration] {
        // The `+` keeps SQLite from putting the token into substr() for the column, which would hide the index from it.
        let dead = try database.all(
            """
            SELECT registration.id, plain, prefixed, key_hash, plaintext_digest, chat_lists, allowed_keys,
                installation_id, version, token_type, enabled, allow_from_contacts_only, block_mentions,
                access_token, device_token, apn_topic, grant_signature
            FROM registration JOIN query_topic ON query_topic.registration = registration.id
            LEFT JOIN registration_lists ON registration_lists.registration = registration.id
            WHERE substr(device_token, 1, 16) = substr(?1, 1, 16) AND is_live = 1
                AND +device_token = ?1 AND token_type = ?2 AND (apn_topic = ?3 OR token_type <> \(TokenType.apn.rawValue))
                AND CASE registration.id WHEN ?4 THEN version = ?5 ELSE updated_at < ?6 END
            """,
            token.text, token.type, token.apnTopic, token.tried?.row, token.tried?.version, token.attemptedAt
        ) { row in
            let changed = ChangedRegistration(registration: try row.next(), topics: try row.nextTopics())
            let (keyHash, digest): (Digest64, Digest32) = (try row.next(), try row.next())
            return (changed, Registration(keyHash: keyHash, content: try row.nextRegistration(), plaintextDigest: digest))
        }
        for (changed, registration) in dead {
            try database.run(
                """
                INSERT INTO dead_registration (
                    died_at, reason, route, plain_topic, prefixed_topic, key_hash, plaintext_digest, content)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?)
                """,
                now, token.reason, token.route, changed.topics.plain, changed.topics.prefixed, registration.keyHash,
                registration.plaintextDigest, registration.content.encoded())
            let version = StoredVersion(
                version: registration.content.version, plaintextDigest: registration.plaintextDigest, isRegistered: true)
            try unregister(
                registration.installation, replacing: StoredInstallation(row: changed.registration, version: version),
                version: version.version, plaintextDigest: version.plaintextDigest, at: now)
        }
        return dead.map(\.0)
    }
}

extension Database {
    /// The token of a registration that is live and was last changed before a time.
    func deviceToken(of installation: Installation, type: TokenType, registeredBefore time: Timestamp) throws -> String? {
        try first(
            """
            SELECT device_token FROM registration
            WHERE \(Self.isInstallation) AND is_live = 1 AND token_type = ? AND updated_at < ?
            """,
            installation.keyHash.prefix, installation.prefix, installation.installationID, installation.keyHash, type, time
        ) { try $0.next() }
    }
}

extension RowCursor {
    /// A registration as its client sent it, from the next twelve columns.
    fileprivate mutating func nextRegistration() throws -> PushNotificationRegistration {
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
        return content
    }
}
