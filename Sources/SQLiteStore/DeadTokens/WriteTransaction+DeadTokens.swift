import Envelope
import GRDB
import PushProtocol
import StatusCrypto
import Store
import Wire

extension WriteTransaction {
    /// Applies a change of a device token.
    ///
    /// - Returns: The registrations that were removed with the token.
    func apply(_ change: OutboxUpdate.TokenChange, at now: Timestamp) throws -> [ChangedRegistration] {
        switch change {
        case .suspect(let token):
            try database.run(
                """
                INSERT INTO suspect_token (token_digest, suspected_at, tried_at) VALUES (?1, ?2, ?2)
                ON CONFLICT (token_digest) DO UPDATE SET tried_at = ?2
                """,
                token, now)
            return []
        case .tried(let token):
            try database.run("UPDATE suspect_token SET tried_at = ? WHERE token_digest = ?", now, token)
            return []
        case .clearSuspicion(let token):
            try database.run("DELETE FROM suspect_token WHERE token_digest = ?", token)
            return []
        case .delivered(let target):
            try addDelivery(to: target, at: now)
            return []
        case .deliveredToken(let token):
            try database.run("INSERT OR REPLACE INTO proven_token (token_digest, delivered_at) VALUES (?, ?)", token, now)
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
            \(Self.selectRegistration)
            WHERE substr(device_token, 1, 16) = substr(?1, 1, 16) AND is_live = 1
                AND +device_token = ?1 AND token_type = ?2 AND (apn_topic = ?3 OR token_type <> \(TokenType.apn.rawValue))
                AND CASE registration.id WHEN ?4 THEN version = ?5 ELSE updated_at < ?6 END
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
            WHERE registration.id BETWEEN ? AND ? AND is_live = 1 AND updated_at < ? AND coalesce(delivered_at, 0) < ?
            """,
            rows.lowerBound, rows.upperBound, oldest, oldest
        ) { try $0.nextLiveRegistration() }
        for registration in unused { try unregister(registration, reason: "unused", route: "", at: now) }
        return unused.map(\.changed)
    }

    /// Unregisters an installation and stores a copy of its registration, from which the operator can restore it.
    private func unregister(_ live: LiveRegistration, reason: String, route: String, at now: Timestamp) throws {
        let registration = live.registration
        try database.run(
            """
            INSERT INTO dead_registration (
                died_at, reason, route, plain_topic, prefixed_topic, key_hash, plaintext_digest, content)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?)
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
        SELECT registration.id, plain, prefixed, key_hash, plaintext_digest, chat_lists, allowed_keys,
            installation_id, version, token_type, enabled, allow_from_contacts_only, block_mentions,
            access_token, device_token, apn_topic, grant_signature
        FROM registration JOIN query_topic ON query_topic.registration = registration.id
        LEFT JOIN registration_lists ON registration_lists.registration = registration.id
        """
}

/// A registration with its row and topics.
private typealias LiveRegistration = (changed: ChangedRegistration, registration: Registration)

extension RowCursor {
    /// Reads a registration from the columns of `selectRegistration`.
    fileprivate mutating func nextLiveRegistration() throws -> LiveRegistration {
        let changed = ChangedRegistration(registration: try next(), topics: try nextTopics())
        let (keyHash, digest): (Digest64, Digest32) = (try next(), try next())
        return (changed, Registration(keyHash: keyHash, content: try nextRegistration(), plaintextDigest: digest))
    }

    /// Reads a registration as its client sent it, from the next twelve columns.
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
