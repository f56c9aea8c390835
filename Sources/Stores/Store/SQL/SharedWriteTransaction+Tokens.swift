import Bytes
package import Envelope
import PushProtocol
import Wire

extension SharedWriteTransaction {
    /// Applies a change of device tokens.
    ///
    /// - Returns: The registrations that were removed with a token.
    package func apply(_ step: ChangeOrder.TokenStep, at now: Timestamp) throws -> [ChangedRegistration] {
        switch step {
        case .clearSuspicions(let cleared): try clear(cleared)
        case .suspect(let token, let suspicion, let route): try suspect(token, suspicion, in: route)
        case .delivered(let targets): try addDeliveries(to: targets, at: now)
        case .deliveredToken(let token): try addDelivery(to: token, at: now)
        case .expirePushes(let device, let route, let reason):
            try expirePushes(to: device, route: route, reason: reason, at: now)
        case .unregister(let token):
            try removeDevices(token, at: now)
            return try unregister(token, at: now)
        }
        return []
    }

    private func suspect(_ token: Digest32, _ suspicion: Suspicion, in route: String) throws {
        try database.add(
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
    }

    /// Records a delivery to a token without a registration.
    private func addDelivery(to token: Digest32, at now: Timestamp) throws {
        try database.add(
            """
            INSERT INTO proven_token (token_digest, delivered_at, first_delivered_at) VALUES ($1, $2, $2)
            ON CONFLICT (token_digest) DO UPDATE SET
                first_delivered_at = coalesce(proven_token.first_delivered_at, proven_token.delivered_at),
                delivered_at = CASE WHEN proven_token.delivered_at > excluded.delivered_at THEN proven_token.delivered_at
                    ELSE excluded.delivered_at END
            """,
            try sealing.code(of: token), now)
    }

    private func unregister(_ token: DeadToken, at now: Timestamp) throws -> [ChangedRegistration] {
        let dead = try liveRegistrations(
            """
            token_code = $1 AND token_type = $2 AND (apn_topic = $3 OR token_type <> \(TokenType.apn.rawValue))
                AND CASE WHEN registration.id = $4 THEN version = $5 ELSE updated_at < $6 END
            \(Database.dialect.forUpdate)
            """,
            try sealing.code(of: token.token), token.type, token.apnTopic, token.tried?.row, token.tried?.version,
            token.attemptedAt)
        for registration in dead { try unregister(registration, reason: token.reason, route: token.route, at: now) }
        return dead.map(\.changed)
    }

    /// Unregisters installations without registration and delivery since a time. Those that cannot be read stay: nothing that follows from
    /// other rows waits for them.
    ///
    /// - Parameters:
    ///   - rows: The rows to examine.
    ///   - budget: How many may go that were ever delivered to.
    func unregister(
        unusedSince oldest: Timestamp, among rows: ClosedRange<Int64>, within budget: inout Int, at now: Timestamp
    ) throws -> [ChangedRegistration] {
        let unused = try liveRegistrations(
            """
            registration.id BETWEEN $1 AND $2 AND updated_at < $3 AND coalesce(delivered_at, 0) < $3
            ORDER BY registration.id \(Database.dialect.skippingLocked)
            """,
            rows.lowerBound, rows.upperBound, oldest)
        let gone = unused.filter { registration in
            guard registration.hasWorked else { return true }
            budget -= 1
            return budget >= 0
        }
        budget = max(0, budget)
        for registration in gone { try unregister(registration, reason: .unused, route: "", at: now) }
        return gone.map(\.changed)
    }

    /// Reads live registrations as their clients sent them, except for those that cannot be read.
    ///
    /// - Parameter condition: What follows `WHERE` and `AND`.
    private func liveRegistrations<each Value: SQLValue>(_ condition: String, _ values: repeat each Value) throws -> [LiveRegistration] {
        var damaged: [Int64] = []
        let found = try database.all(
            """
            SELECT registration.id, \(Database.dialect.topics), key_hash, plaintext_digest, installation_id, version, secrets,
                sealed_chat_lists, sealed_allowed_keys, token_type, enabled, allow_from_contacts_only, block_mentions, apn_topic,
                grant_signature, delivered_at IS NOT NULL
            FROM \(Database.dialect.liveRegistrations) WHERE is_live AND \(condition)
            """,
            repeat each values
        ) { row in
            let id: Int64 = try row.next()
            return try row.readable(id, or: &damaged) { try $0.liveRegistration(id, sealing) }
        }
        try setAside(damaged, .registration)
        return found.compactMap(\.self)
    }

    /// Unregisters an installation and stores a copy of its registration, from which the operator can restore it.
    private func unregister(_ live: LiveRegistration, reason: PushReason, route: String, at now: Timestamp) throws {
        let registration = live.registration
        let secrets = try sealing.seal(
            [registration.content.encoded()], in: .deadRegistration(of: registration.keyHash, digest: registration.plaintextDigest))
        try database.add(
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
}

/// A registration with its row and topics, and whether it was ever delivered to.
private typealias LiveRegistration = (changed: ChangedRegistration, registration: Registration, hasWorked: Bool)

extension SQLRow {
    /// Reads a registration as its client sent it, from the columns of `liveRegistrations`.
    fileprivate mutating func liveRegistration(_ row: Int64, _ sealing: RowSealing) throws -> LiveRegistration {
        let changed = ChangedRegistration(registration: row, topics: try nextTopics())
        let (keyHash, digest): (Digest64, Digest32) = (try next(), try next())
        let installation = Installation(keyHash: keyHash, installationID: try next())
        let tokens = try nextTokens(of: installation, sealing)
        let version = tokens.version
        var content: PushNotificationRegistration = try nextMessage(sealing, in: .chatLists(of: installation, version: version))
        let allowed: PushNotificationRegistration = try nextMessage(sealing, in: .allowedKeys(of: installation, version: version))
        content.allowedKeyList = allowed.allowedKeyList
        content.installationID = installation.installationID
        content.version = version
        content.accessToken = tokens.access
        content.deviceToken = tokens.device
        content.tokenType = try next()
        content.enabled = try next()
        content.allowFromContactsOnly = try next()
        content.blockMentions = try next()
        content.apnTopic = try next()
        content.grant = try next()
        return (changed, Registration(keyHash: keyHash, content: content, plaintextDigest: digest), try next())
    }
}
