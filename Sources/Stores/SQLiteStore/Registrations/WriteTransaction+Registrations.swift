package import Bytes
package import Envelope
import GRDB
package import PushProtocol
import ServerCrypto
import StatusCrypto
package import Store
import Wire

extension WriteTransaction {
    /// Stores a registration in place of an earlier one or of a tombstone.
    ///
    /// - Parameter stored: The present row of the installation; nil if it is unknown.
    /// - Returns: The row, which an installation keeps permanently.
    package func register(
        _ registration: Registration, replacing stored: StoredInstallation?, topics: QueryTopics, at now: Timestamp
    ) throws -> Int64 {
        let content = registration.content
        let secrets = try RegistrationColumns(registration, sealing)
        let deliveries = try stored.flatMap { try earlierDeliveries(of: content, registeredAs: $0) }
        try database.run(
            """
            INSERT OR REPLACE INTO registration (
                id, key_prefix, is_live, version, updated_at, key_hash, installation_prefix, installation_id, plaintext_digest,
                token_type, enabled, allow_from_contacts_only, block_mentions,
                apn_topic, grant_signature, blocked_chats, muted_chats, allowed_mentions_chats, delivered_at, first_delivered_at, secrets,
                token_code)
            VALUES (?, ?, 1, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            """,
            stored?.row, registration.keyHash.prefix, content.version, now,
            registration.keyHash, registration.installation.prefix, content.installationID, registration.plaintextDigest,
            content.tokenType, content.enabled, content.allowFromContactsOnly, content.blockMentions,
            content.apnTopic, content.grant,
            fingerprints.column(for: content.blockedChatList), fingerprints.column(for: content.mutedChatList),
            fingerprints.column(for: content.allowedMentionsChatList), deliveries?.last, deliveries?.first, secrets.secrets,
            secrets.tokenCode)
        let id = database.lastInsertedRowID
        try database.run(
            "INSERT OR REPLACE INTO query_topic (registration, plain, prefixed) VALUES (?, ?, ?)", id, topics.plain, topics.prefixed)
        if secrets.allowedKeys != nil || secrets.chatLists != nil {
            try database.run(
                "INSERT OR REPLACE INTO registration_lists (registration, sealed_allowed_keys, sealed_chat_lists) VALUES (?, ?, ?)",
                id, secrets.allowedKeys, secrets.chatLists)
        } else if stored != nil {
            try database.run("DELETE FROM registration_lists WHERE registration = ?", id)
        }
        if stored != nil, deliveries == nil { try tellOfChange(registration.installation) }
        return id
    }

    /// Returns the deliveries to the registration that `content` replaces; nil if there were none, or if `content` has another token or
    /// bundle id.
    private func earlierDeliveries(of content: PushNotificationRegistration, registeredAs stored: StoredInstallation) throws -> Deliveries?
    {
        let deliveries: Deliveries?? = try database.first(
            """
            SELECT delivered_at, first_delivered_at FROM registration
            WHERE id = ? AND is_live = 1 AND token_code IN (?, ?) AND token_type = ? AND apn_topic = ?
            """,
            stored.row, try sealing.code(of: content.deviceToken.folded(as: content.tokenType)), try sealing.code(of: content.deviceToken),
            content.tokenType, content.apnTopic
        ) { try $0.nextDeliveries() }
        return deliveries ?? nil
    }

    /// Replaces a registration by a tombstone, even if none existed. With the last installation of a key, deletes its topic keys.
    ///
    /// - Parameter stored: The present row of the installation; nil if it is unknown.
    package func unregister(
        _ installation: Installation, replacing stored: StoredInstallation?, version: UInt64, plaintextDigest: Digest32,
        at now: Timestamp
    ) throws {
        if stored == nil { try deleteExcessUnknownTombstones(of: installation.keyHash) }
        // The statement replaces the complete row under its old id: the columns that it does not name become NULL.
        try database.run(
            """
            INSERT OR REPLACE INTO registration (
                id, key_prefix, is_live, version, updated_at, key_hash, installation_prefix, installation_id, plaintext_digest,
                was_registered)
            VALUES (?, ?, 0, ?, ?, ?, ?, ?, ?, ?)
            """,
            stored?.row, installation.keyHash.prefix, version, now, installation.keyHash, installation.prefix,
            installation.installationID, plaintextDigest, stored?.wasRegistered ?? false)
        guard let stored, stored.version.isRegistered else { return }
        try withdrawPushes(to: installation, at: now)
        try database.run("DELETE FROM registration_lists WHERE registration = ?", stored.row)
        try database.run("DELETE FROM query_topic WHERE registration = ?", stored.row)
        let keyHash = installation.keyHash
        if try database.count("SELECT count(*) FROM registration WHERE \(Database.isLiveOfKey)", keyHash.prefix, keyHash) == 0 {
            try database.run("DELETE FROM topic_key WHERE key_prefix = ? AND key_hash = ?", keyHash.prefix, keyHash)
        }
    }
}

extension WriteTransaction {
    /// Deletes the oldest tombstones of a key without an earlier registration, so that the limit allows one more.
    private func deleteExcessUnknownTombstones(of keyHash: Digest64) throws {
        try database.run(
            """
            DELETE FROM registration WHERE id IN (
                SELECT id FROM registration WHERE key_prefix = ? AND is_live = 0 AND key_hash = ? AND was_registered = 0
                ORDER BY updated_at DESC, id DESC LIMIT -1 OFFSET ?
            )
            """,
            keyHash.prefix, keyHash, ProtocolLimits.maximumUnknownTombstonesPerKey - 1)
    }

    /// Returns the row of a live registration and the data that a push request needs, or nil. The data are nil if they are damaged. Reads
    /// none of its lists.
    ///
    /// - Parameter entries: The chats and authors to look for in its lists.
    func pushTarget(_ installation: Installation, loading entries: Set<[UInt8]>) throws -> (row: PushTargetRow, target: PushTarget?)? {
        try database.first(
            Self.selectTarget, installation.keyHash.prefix, installation.prefix, installation.installationID, installation.keyHash
        ) { try $0.nextPushTarget(installation, loading: entries, secrets) }
    }

    /// The statement is a constant, because assembling its text for each call takes as long as its execution.
    private static let selectTarget = """
        SELECT \(PushTarget.columns) FROM registration WHERE \(Database.isInstallation) AND is_live = 1
        """
}

extension Database {
    /// Returns the row that the next registration replaces, whose version it must exceed; nil for an unknown installation.
    func stored(_ installation: Installation) throws -> StoredInstallation? {
        try first(
            Self.selectVersion, installation.keyHash.prefix, installation.prefix, installation.installationID, installation.keyHash
        ) { row in
            StoredInstallation(row: try row.next(), version: try row.nextVersion(), wasRegistered: try row.next())
        }
    }

    /// Returns the stored states of all installations of a key.
    func installations(of keyHash: Digest64) throws -> [Installation: StoredInstallationState] {
        let installations = try all(Self.selectShapes, keyHash.prefix, keyHash) { row in
            (Installation(keyHash: keyHash, installationID: try row.next()), try row.nextInstallationState().state)
        }
        return Dictionary(installations) { first, _ in first }
    }

    /// Returns the live registrations of a key and the size of the list that a response would contain. Reads no list.
    func allowedKeyByteCounts(of keyHash: Digest64) throws -> [(row: Int64, byteCount: Int)] {
        try all(Self.selectAllowedKeyByteCounts, keyHash.prefix, keyHash) { (row: try $0.next(), byteCount: try $0.next()) }
    }

    /// Returns the data of a registration for a query's response, or nil if it is damaged.
    func queryableRegistration(_ row: Int64, or damaged: inout [Int64], _ sealing: RowSealing) throws -> QueryableRegistration? {
        try first(Self.selectQueryable, row) { try $0.readable(row, or: &damaged) { try $0.nextQueryable(sealing).registration } } ?? nil
    }

    /// The SQL condition for an installation, with the parameters key prefix, installation prefix, installation id and key hash. It names
    /// both values of `is_live`, so that SQLite also uses the columns of the index after it.
    static let isInstallation =
        "key_prefix = ? AND is_live IN (0, 1) AND installation_prefix = ? AND installation_id = ? AND key_hash = ?"
    /// The SQL condition for the live registrations of a key, with the parameters key prefix and key hash.
    fileprivate static let isLiveOfKey = "key_prefix = ? AND is_live = 1 AND key_hash = ?"

    // The statements are constants, because assembling a text for each call takes as long as executing a small statement.

    private static let selectVersion =
        "SELECT id, version, plaintext_digest, is_live, was_registered FROM registration WHERE \(isInstallation)"
    // SQLite knows the length of a blob without reading it (https://www.sqlite.org/opcode.html, Column).
    private static let selectShapes = """
        SELECT installation_id, \(StoredInstallationState.columns(byteCount: ListColumn.byteCount))
        FROM registration LEFT JOIN registration_lists ON registration_lists.registration = registration.id
        WHERE key_prefix = ? AND is_live IN (0, 1) AND key_hash = ?
        """
    private static let selectAllowedKeyByteCounts = """
        SELECT id, \(ListColumn.byteCount("sealed_allowed_keys"))
        FROM registration LEFT JOIN registration_lists ON registration_lists.registration = registration.id
        WHERE \(isLiveOfKey) ORDER BY id
        """
    private static let selectQueryable = """
        SELECT \(QueryableRegistration.columns)
        FROM registration LEFT JOIN registration_lists ON registration_lists.registration = registration.id
        WHERE id = ?
        """
}

extension Installation {
    /// The part of the hashed id that the index contains. Clients choose ids, but cannot make many hashes collide.
    var prefix: Int64 { SHA256.hash(installationID.utf8Span.span).prefix }
}

extension ListColumn {
    /// The SQL expression for the length of a stored list, which is sealed as one field.
    static func byteCount(_ column: String) -> String {
        "coalesce(length(\(column)) - \(SealingKeys.overheadByteCount + 4), 0)"
    }
}
