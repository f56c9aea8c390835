import Bytes
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
    func apply(_ step: ChangeOrder.TokenStep, at now: Timestamp) throws -> [ChangedRegistration] {
        switch step {
        case .suspect(let token, let suspicion, let route):
            try database.run(
                """
                INSERT OR REPLACE INTO suspect_token (
                    token_digest, suspected_at, tried_at, refusals, counted_refusals, first_counted_at, is_proven, route)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?)
                """,
                try sealing.code(of: token), suspicion.since, suspicion.refusedAt, suspicion.refusalCount, suspicion.countedCount,
                suspicion.firstCountedAt, suspicion.isProven, route)
            return []
        case .clearSuspicions(let cleared):
            for (token, release) in cleared {
                let count = try database.run("DELETE FROM suspect_token WHERE token_digest = ?", try sealing.code(of: token))
                if count > 0, let release { try self.release(release) }
            }
            return []
        case .delivered(let targets):
            for target in targets { try addDelivery(to: target, at: now) }
            return []
        case .deliveredToken(let token):
            try database.run(
                """
                INSERT INTO proven_token (token_digest, delivered_at, first_delivered_at) VALUES (?1, ?2, ?2)
                ON CONFLICT (token_digest) DO UPDATE SET
                    first_delivered_at = coalesce(first_delivered_at, delivered_at), delivered_at = ?2
                """,
                try sealing.code(of: token), now)
            return []
        case .unregister(let token):
            try removeNextcloudDevices(token, at: now)
            return try unregister(token, at: now)
        }
    }

    private func unregister(_ token: DeadToken, at now: Timestamp) throws -> [ChangedRegistration] {
        let isDead = """
            is_live = 1 AND token_type = ?2 AND (apn_topic = ?3 OR token_type <> \(TokenType.apn.rawValue))
                AND CASE registration.id WHEN ?4 THEN version = ?5 ELSE updated_at < ?6 END
            """
        let dead = try database.all(
            "\(Self.selectRegistration) WHERE token_code = ?1 AND \(isDead)", try sealing.code(of: token.token), token.type,
            token.apnTopic, token.tried?.row, token.tried?.version, token.attemptedAt
        ) { try $0.nextLiveRegistration(sealing) }
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
        ) { try $0.nextLiveRegistration(sealing) }
        for registration in unused { try unregister(registration, reason: .unused, route: "", at: now) }
        return unused.map(\.changed)
    }

    /// Unregisters an installation and stores a copy of its registration, from which the operator can restore it.
    private func unregister(_ live: LiveRegistration, reason: PushReason, route: String, at now: Timestamp) throws {
        let registration = live.registration
        let secrets = try sealing.seal(
            [registration.content.encoded()], in: .deadRegistration(of: registration.keyHash, digest: registration.plaintextDigest))
        try database.run(
            """
            INSERT INTO dead_registration (died_at, reason, route, plain_topic, prefixed_topic, key_hash, plaintext_digest, secrets)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?)
            """,
            now, reason.rawValue, route, live.changed.topics.plain, live.changed.topics.prefixed, registration.keyHash,
            registration.plaintextDigest, secrets)
        let version = StoredVersion(
            version: registration.content.version, plaintextDigest: registration.plaintextDigest, isRegistered: true)
        try unregister(
            registration.installation, replacing: StoredInstallation(row: live.changed.registration, version: version),
            version: version.version, plaintextDigest: version.plaintextDigest, at: now)
    }

    private static let selectRegistration = """
        SELECT registration.id, plain, prefixed, key_hash, plaintext_digest, installation_id, \(RowCursor.tokenColumns),
            sealed_chat_lists, sealed_allowed_keys, token_type, enabled, allow_from_contacts_only, block_mentions, apn_topic, grant_signature
        FROM registration JOIN query_topic ON query_topic.registration = registration.id
        LEFT JOIN registration_lists ON registration_lists.registration = registration.id
        """
}

/// A registration with its row and topics.
private typealias LiveRegistration = (changed: ChangedRegistration, registration: Registration)

extension RowCursor {
    /// Reads a registration from the columns of `selectRegistration`.
    fileprivate mutating func nextLiveRegistration(_ sealing: RowSealing) throws -> LiveRegistration {
        let changed = ChangedRegistration(registration: try next(), topics: try nextTopics())
        let (keyHash, digest): (Digest64, Digest32) = (try next(), try next())
        return (changed, Registration(keyHash: keyHash, content: try nextRegistration(of: keyHash, sealing), plaintextDigest: digest))
    }

    /// Reads a registration as its client sent it, from the next columns.
    private mutating func nextRegistration(of keyHash: Digest64, _ sealing: RowSealing) throws -> PushNotificationRegistration {
        let installation = Installation(keyHash: keyHash, installationID: try next())
        let tokens = try nextTokens(of: installation, sealing)
        var content: PushNotificationRegistration = try nextMessage(sealing, in: .chatLists(of: installation, version: tokens.version))
        let allowed: PushNotificationRegistration = try nextMessage(sealing, in: .allowedKeys(of: installation, version: tokens.version))
        content.allowedKeyList = allowed.allowedKeyList
        content.installationID = installation.installationID
        content.version = tokens.version
        content.accessToken = tokens.access
        content.deviceToken = tokens.device
        content.tokenType = try next()
        content.enabled = try next()
        content.allowFromContactsOnly = try next()
        content.blockMentions = try next()
        content.apnTopic = try next()
        content.grant = try next()
        return content
    }
}
