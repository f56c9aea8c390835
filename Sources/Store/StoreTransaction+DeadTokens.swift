package import Envelope
import GRDB
import PushProtocol
package import StatusCrypto
package import Wire

/// A registration that came or went without a message of its owner: who listens on its topics has to hear of it.
package struct ChangedRegistration: Sendable, Hashable {
    /// The number of its row.
    package var registration: Int64
    package var topics: QueryTopics
}

extension StoreTransaction {
    /// Unregisters all that have a device token that turned out to be dead. Re-installed apps leave their old registrations behind, so
    /// one token may be under several installations and keys. Versions stay: the clients may register anew with higher ones. A copy of
    /// each registration is kept for ``PushStore/deadTokenRetention``.
    ///
    /// - Parameters:
    ///   - attempt: when the token was tried. What was registered then or later stays: it may be the same token, alive again.
    ///   - reason: a word of ours, for `dead-tokens list`.
    @discardableResult
    package func bury(
        _ deviceToken: String, type: TokenType, registeredBefore attempt: Timestamp, reason: String, route: String, at now: Timestamp
    ) throws -> [ChangedRegistration] {
        // The `+` keeps SQLite from putting the token into substr() for the column, which would hide the index from it.
        let dead = try database.all(
            """
            SELECT registration.id, key_hash, plaintext_digest, plain, prefixed,
                installation_id, version, token_type, enabled, allow_from_contacts_only, block_mentions,
                access_token, device_token, apn_topic, grant_signature, chat_lists, list
            FROM registration JOIN query_topic ON query_topic.registration = registration.id
            LEFT JOIN allowed_keys ON allowed_keys.registration = registration.id
            WHERE substr(device_token, 1, 16) = substr(?1, 1, 16) AND is_live = 1
                AND +device_token = ?1 AND token_type = ?2 AND updated_at < ?3
            """,
            deviceToken, Int64(type.rawValue), attempt
        ) { row in
            let topics = QueryTopics(
                plain: UInt32(truncatingIfNeeded: row.integer(3)), prefixed: UInt32(truncatingIfNeeded: row.integer(4)))
            let registration = Registration(
                keyHash: try row.fixedBytes(1), content: try Self.content(row, from: 5), plaintextDigest: try row.fixedBytes(2))
            return (changed: ChangedRegistration(registration: row.integer(0), topics: topics), registration: registration)
        }
        for (changed, registration) in dead {
            try database.run(
                """
                INSERT INTO dead_registration (
                    died_at, reason, route, plain_topic, prefixed_topic, key_hash, plaintext_digest, content)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?)
                """,
                now, reason, route, Int64(changed.topics.plain), Int64(changed.topics.prefixed), registration.keyHash,
                registration.plaintextDigest, registration.content.encoded())
            let version = StoredVersion(
                version: registration.content.version, plaintextDigest: registration.plaintextDigest, isRegistered: true)
            try unregister(
                registration.installation, replacing: StoredInstallation(row: changed.registration, version: version),
                version: version.version, plaintextDigest: version.plaintextDigest, at: now)
        }
        return dead.map(\.changed)
    }

    /// The token of a registration that is live and was last changed before a time.
    func deviceToken(of installation: Installation, type: TokenType, registeredBefore time: Timestamp) throws -> String? {
        try database.first(
            """
            SELECT device_token FROM registration
            WHERE \(Self.isInstallation) AND is_live = 1 AND token_type = ? AND updated_at < ?
            """,
            installation.keyHash.prefix, installation.prefix, installation.installationID, installation.keyHash, Int64(type.rawValue), time
        ) { $0.text(0) }
    }

    /// Since when a device token is suspected to be dead.
    ///
    /// - Parameter token: its SHA-256.
    package func suspicion(against token: Digest32) throws -> Timestamp? {
        try database.first("SELECT suspected_at FROM suspect_token WHERE token_digest = ?", token) { $0.timestamp(0) }
    }

    /// Suspects a device token; an earlier suspicion keeps its time.
    package func suspect(_ token: Digest32, at now: Timestamp) throws {
        try database.run("INSERT OR IGNORE INTO suspect_token (token_digest, suspected_at) VALUES (?, ?)", token, now)
    }

    /// Lifts the suspicion: a push has arrived, or the verdict is in.
    package func clearSuspicion(against token: Digest32) throws {
        try database.run("DELETE FROM suspect_token WHERE token_digest = ?", token)
    }

    /// A registration as its client sent it, from twelve columns that begin at `column`.
    private static func content(_ row: BoundStatement, from column: Int32) throws -> PushNotificationRegistration {
        var content = try ListColumn.read(row, column + 10)
        content.allowedKeyList = try ListColumn.read(row, column + 11).allowedKeyList
        content.installationID = row.text(column)
        content.version = UInt64(bitPattern: row.integer(column + 1))
        content.tokenType = TokenType(rawValue: Int32(truncatingIfNeeded: row.integer(column + 2)))
        content.enabled = row.bool(column + 3)
        content.allowFromContactsOnly = row.bool(column + 4)
        content.blockMentions = row.bool(column + 5)
        content.accessToken = row.text(column + 6)
        content.deviceToken = row.text(column + 7)
        content.apnTopic = row.text(column + 8)
        content.grant = row.bytes(column + 9)
        return content
    }
}
