package import Bytes
package import Envelope
import PushProtocol
import StatusCrypto
package import Store
import Wire

extension PostgreSQLStore {
    package func suspicions(against tokens: [Digest32], in route: String) async throws -> Suspicions {
        try await read { [sealing] database in
            let codes = try tokens.map { try sealing.code(of: $0) }
            let results = try database.fetch([
                Suspicion.command(SQLArray(codes)),
                Command("SELECT min(suspected_at) FROM suspect_token WHERE route = $1 AND is_proven", route),
            ])
            let stored = Dictionary(try results[0].map { try $0.nextSuspicion() }) { first, _ in first }
            let suspicions = zip(tokens, codes).compactMap { token, code in stored[code].map { (token, $0) } }
            return Suspicions(
                byTarget: Dictionary(suspicions) { first, _ in first },
                oldest: try results[1].map { try $0.next(Timestamp?.self) }.first ?? nil)
        }
    }

    package func deadRegistrations(limit: Int) async throws -> [DeadRegistration] {
        try await read { [sealing] database in
            try database.all(
                """
                SELECT id, died_at, reason, route, key_hash, plaintext_digest, secrets FROM dead_registration
                ORDER BY id DESC LIMIT $1
                """,
                limit
            ) { row in
                let (id, diedAt, reason): (Int64, Timestamp, String) = (try row.next(), try row.next(), try row.next())
                let (route, keyHash, digest): (String, Digest64, Digest32) = (try row.next(), try row.next(), try row.next())
                let content: PushNotificationRegistration = try row.nextMessage(
                    sealing, in: .deadRegistration(of: keyHash, digest: digest))
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
                    RETURNING key_hash, plaintext_digest, secrets, plain_topic, prefixed_topic
                    """,
                    id
                ) { row in
                    let (keyHash, digest): (Digest64, Digest32) = (try row.next(), try row.next())
                    let content: PushNotificationRegistration = try row.nextMessage(
                        transaction.sealing, in: .deadRegistration(of: keyHash, digest: digest))
                    return (
                        registration: Registration(keyHash: keyHash, content: content, plaintextDigest: digest),
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
    /// Applies changes of device tokens.
    ///
    /// - Returns: The registrations that were removed with a token.
    func apply(_ step: ChangeOrder.TokenStep, at now: Timestamp) throws -> [ChangedRegistration] {
        switch step {
        case .suspect(let token, let suspicion, let route):
            database.add(
                """
                INSERT INTO suspect_token (
                    token_digest, suspected_at, tried_at, refusals, counted_refusals, first_counted_at, is_proven, route)
                VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
                ON CONFLICT (token_digest) DO UPDATE SET
                    suspected_at = excluded.suspected_at, tried_at = excluded.tried_at, refusals = excluded.refusals,
                    counted_refusals = excluded.counted_refusals, first_counted_at = excluded.first_counted_at,
                    is_proven = excluded.is_proven, route = excluded.route
                """,
                try sealing.code(of: token), suspicion.since, suspicion.refusedAt, suspicion.refusalCount, suspicion.countedCount,
                suspicion.firstCountedAt, suspicion.isProven, route)
            return []
        case .clearSuspicions(let cleared):
            let codes = try cleared.map { (code: try sealing.code(of: $0.token), release: $0.release) }
            let deleted = try database.all(
                "DELETE FROM suspect_token WHERE token_digest = ANY($1) RETURNING token_digest", SQLArray(codes.map(\.code))
            ) { try $0.next(Digest32.self) }
            for (code, release) in codes where deleted.contains(code) {
                if let release { try self.release(release) }
            }
            return []
        case .delivered(let targets):
            try addDeliveries(to: targets, at: now)
            return []
        case .deliveredToken(let token):
            database.add(
                """
                INSERT INTO proven_token (token_digest, delivered_at, first_delivered_at) VALUES ($1, $2, $2)
                ON CONFLICT (token_digest) DO UPDATE SET
                    first_delivered_at = coalesce(proven_token.first_delivered_at, proven_token.delivered_at),
                    delivered_at = excluded.delivered_at
                """,
                try sealing.code(of: token), now)
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
            WHERE is_live AND token_code = $1 AND token_type = $2 AND (apn_topic = $3 OR token_type <> \(TokenType.apn.rawValue))
                AND CASE WHEN id = $4 THEN version = $5 ELSE updated_at < $6 END
            FOR UPDATE
            """,
            try sealing.code(of: token.token), token.type, token.apnTopic, token.tried?.row, token.tried?.version, token.attemptedAt
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
            WHERE id BETWEEN $1 AND $2 AND is_live AND updated_at < $3 AND coalesce(delivered_at, 0) < $3 ORDER BY id FOR UPDATE SKIP LOCKED
            """,
            rows.lowerBound, rows.upperBound, oldest
        ) { try $0.nextLiveRegistration(sealing) }
        for registration in unused { try unregister(registration, reason: .unused, route: "", at: now) }
        return unused.map(\.changed)
    }

    /// Unregisters an installation and stores a copy of its registration, from which the operator can restore it.
    private func unregister(_ live: LiveRegistration, reason: PushReason, route: String, at now: Timestamp) throws {
        let registration = live.registration
        let secrets = try sealing.seal(
            [registration.content.encoded()], in: .deadRegistration(of: registration.keyHash, digest: registration.plaintextDigest))
        database.add(
            """
            INSERT INTO dead_registration (died_at, reason, route, plain_topic, prefixed_topic, key_hash, plaintext_digest, secrets)
            VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
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
        SELECT id, plain_topic, prefixed_topic, key_hash, plaintext_digest, installation_id, \(RowCursor.tokenColumns),
            sealed_chat_lists, sealed_allowed_keys, token_type, enabled, allow_from_contacts_only, block_mentions, apn_topic,
            grant_signature
        FROM registration
        """
}

/// A registration with its row and topics.
private typealias LiveRegistration = (changed: ChangedRegistration, registration: Registration)

extension RowCursor {
    /// Reads a registration from the columns of `selectRegistration`.
    fileprivate mutating func nextLiveRegistration(_ sealing: RowSealing) throws -> LiveRegistration {
        let changed = ChangedRegistration(registration: try next(), topics: try nextTopics())
        let (keyHash, digest): (Digest64, Digest32) = (try next(), try next())
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
        return (changed, Registration(keyHash: keyHash, content: content, plaintextDigest: digest))
    }
}

extension Suspicion {
    /// Returns the query of suspicions by codes of device tokens.
    static func command(_ codes: SQLArray<Digest32>) -> Command {
        Command(
            """
            SELECT token_digest, suspected_at, tried_at, refusals, counted_refusals, first_counted_at, is_proven FROM suspect_token
            WHERE token_digest = ANY($1)
            """,
            codes)
    }
}

extension RowCursor {
    /// Reads a suspicion and the code of its device token from the columns of ``Suspicion/command(_:)``.
    mutating func nextSuspicion() throws -> (Digest32, Suspicion) {
        let code: Digest32 = try next()
        let suspicion = Suspicion(
            since: try next(), refusedAt: try next(), refusalCount: try next(), countedCount: try next(), firstCountedAt: try next(),
            isProven: try next())
        return (code, suspicion)
    }
}
