package import Envelope
import GRDB
package import PushProtocol
package import StatusCrypto
import Wire

/// The 4-byte content topics of the two forms of a client's query topic (PROTOCOL.md §2).
package struct QueryTopics: Hashable, Sendable {
    package var plain: UInt32
    package var prefixed: UInt32

    package init(plain: UInt32, prefixed: UInt32) {
        self.plain = plain
        self.prefixed = prefixed
    }
}

/// What is there of an installation, tombstones too.
package struct StoredInstallation: Sendable, Equatable {
    /// The number of its row: the same for ever.
    package var row: Int64
    package var version: StoredVersion
}

extension StoreTransaction {
    /// What the next registration replaces, and whose version it has to exceed; nil when the installation was never heard of.
    package func stored(_ installation: Installation) throws -> StoredInstallation? {
        try database.first(
            Self.selectVersion,
            installation.keyHash.prefix, installation.prefix, installation.installationID, installation.keyHash
        ) { row in
            StoredInstallation(
                row: row.integer(0),
                version: StoredVersion(
                    version: UInt64(bitPattern: row.integer(1)), plaintextDigest: try row.fixedBytes(2), isRegistered: row.bool(3)))
        }
    }

    /// How many other installations of the key are registered.
    package func liveInstallationCount(of keyHash: Digest64, except installationID: String) throws -> Int {
        let count = try database.first(
            Self.countOthers,
            keyHash.prefix, keyHash, installationID
        ) { $0.integer(0) }
        return Int(count ?? 0)
    }

    /// Stores a registration in place of what was there. Whether its version is high enough is for the caller to see before.
    ///
    /// - Parameter stored: what ``stored(_:)`` says in this transaction.
    /// - Returns: the number of the row: the same for an installation for ever.
    @discardableResult
    package func register(
        _ registration: Registration, replacing stored: StoredInstallation?, topics: QueryTopics, at now: Timestamp
    ) throws -> Int64 {
        let content = registration.content
        try database.run(
            """
            INSERT OR REPLACE INTO registration (
                id, key_prefix, is_live, version, updated_at, key_hash, installation_prefix, installation_id, plaintext_digest,
                token_type, enabled, allow_from_contacts_only, block_mentions,
                access_token, device_token, apn_topic, grant_signature, chat_lists)
            VALUES (?, ?, 1, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            """,
            stored?.row, registration.keyHash.prefix, Int64(bitPattern: content.version), now,
            registration.keyHash, registration.installation.prefix, content.installationID, registration.plaintextDigest,
            Int64(content.tokenType.rawValue), content.enabled, content.allowFromContactsOnly, content.blockMentions,
            content.accessToken, content.deviceToken, content.apnTopic, content.grant, ListColumn.chatLists(of: content))
        let id = database.lastInsertedRowID
        try database.run(
            "INSERT OR REPLACE INTO query_topic (registration, plain, prefixed) VALUES (?, ?, ?)",
            id, Int64(topics.plain), Int64(topics.prefixed))
        if let list = ListColumn.allowedKeys(of: content) {
            try database.run("INSERT OR REPLACE INTO allowed_keys (registration, list) VALUES (?, ?)", id, list)
        } else if stored != nil {
            try database.run("DELETE FROM allowed_keys WHERE registration = ?", id)
        }
        return id
    }

    /// Leaves a tombstone, which keeps key hash, installation id, version and digest (PROTOCOL.md §7 row 6): also where nothing was
    /// registered. With the last installation of a key its topic keys go too.
    ///
    /// - Parameter stored: what ``stored(_:)`` says in this transaction.
    /// - Returns: the number of the row if the installation was registered: nobody listens for it from now on.
    @discardableResult
    package func unregister(
        _ installation: Installation, replacing stored: StoredInstallation?, version: UInt64, plaintextDigest: Digest32,
        at now: Timestamp
    ) throws -> Int64? {
        // A new row under the old number: what is not named here is gone.
        try database.run(
            """
            INSERT OR REPLACE INTO registration (
                id, key_prefix, is_live, version, updated_at, key_hash, installation_prefix, installation_id, plaintext_digest)
            VALUES (?, ?, 0, ?, ?, ?, ?, ?, ?)
            """,
            stored?.row, installation.keyHash.prefix, Int64(bitPattern: version), now,
            installation.keyHash, installation.prefix, installation.installationID, plaintextDigest)
        guard let stored, stored.version.isRegistered else { return nil }
        try database.run("DELETE FROM allowed_keys WHERE registration = ?", stored.row)
        try database.run("DELETE FROM query_topic WHERE registration = ?", stored.row)
        if try liveInstallationCount(of: installation.keyHash, except: installation.installationID) == 0 {
            try database.run(
                "DELETE FROM topic_key WHERE key_prefix = ? AND key_hash = ?", installation.keyHash.prefix, installation.keyHash)
        }
        return stored.row
    }

    /// The registrations of a key that a query is told of, by installation id.
    package func registrations(of keyHash: Digest64) throws -> [QueryableRegistration] {
        let registrations = try database.all(Self.selectQueryable, keyHash.prefix, keyHash) { row in
            var registration = QueryableRegistration()
            registration.installationID = row.text(0)
            registration.accessToken = row.text(1)
            registration.grant = row.bytes(2)
            registration.version = UInt64(bitPattern: row.integer(3))
            registration.allowFromContactsOnly = row.bool(4)
            registration.allowedKeyList = try ListColumn.read(row, 5).allowedKeyList
            return registration
        }
        // Nearly always one: SQLite would set up a sorter for it.
        return registrations.sorted { $0.installationID.utf8.lexicographicallyPrecedes($1.installationID.utf8) }
    }

    /// What a push request needs of a registration; nil when there is none, or a tombstone. Does not read the allowed keys.
    package func pushTarget(_ installation: Installation) throws -> PushTarget? {
        try database.first(
            Self.selectTarget,
            installation.keyHash.prefix, installation.prefix, installation.installationID, installation.keyHash
        ) { row in
            var target = PushTarget()
            target.accessToken = row.text(0)
            target.enabled = row.bool(1)
            target.tokenType = TokenType(rawValue: Int32(truncatingIfNeeded: row.integer(2)))
            target.deviceToken = row.text(3)
            target.apnTopic = row.text(4)
            target.blockMentions = row.bool(5)
            let lists = try ListColumn.read(row, 6)
            target.blockedChatList = lists.blockedChatList
            target.mutedChatList = lists.mutedChatList
            target.allowedMentionsChatList = lists.allowedMentionsChatList
            return target
        }
    }

    /// Both values of `is_live` are named, so that the index is used beyond it. Takes both prefixes, installation id, key hash.
    static let isInstallation =
        "key_prefix = ? AND is_live IN (0, 1) AND installation_prefix = ? AND installation_id = ? AND key_hash = ?"
    /// Takes prefix, key hash.
    private static let isLiveOfKey = "key_prefix = ? AND is_live = 1 AND key_hash = ?"

    // Made once: putting a text together for each call costs as much as a small statement.

    private static let selectVersion = "SELECT id, version, plaintext_digest, is_live FROM registration WHERE \(isInstallation)"
    private static let countOthers = "SELECT count(*) FROM registration WHERE \(isLiveOfKey) AND installation_id <> ?"
    private static let selectQueryable = """
        SELECT installation_id, access_token, grant_signature, version, allow_from_contacts_only, list
        FROM registration LEFT JOIN allowed_keys ON allowed_keys.registration = registration.id
        WHERE \(isLiveOfKey)
        """
    private static let selectTarget = """
        SELECT access_token, enabled, token_type, device_token, apn_topic, block_mentions, chat_lists
        FROM registration WHERE \(isInstallation) AND is_live = 1
        """
}

extension Installation {
    /// What the index holds of its id. Hashed: a client that chooses its ids cannot make many of them fall together.
    var prefix: Int64 { SHA256.hash(installationID.utf8Span.span).prefix }
}

/// The lists of a registration as stored: protobuf again, of a message with nothing but the lists. NULL when all are empty.
enum ListColumn {
    static func chatLists(of content: PushNotificationRegistration) -> [UInt8]? {
        var lists = PushNotificationRegistration()
        lists.blockedChatList = content.blockedChatList
        lists.mutedChatList = content.mutedChatList
        lists.allowedMentionsChatList = content.allowedMentionsChatList
        return encoded(lists)
    }

    static func allowedKeys(of content: PushNotificationRegistration) -> [UInt8]? {
        var lists = PushNotificationRegistration()
        lists.allowedKeyList = content.allowedKeyList
        return encoded(lists)
    }

    static func read(_ row: BoundStatement, _ column: Int32) throws(StoreError) -> PushNotificationRegistration {
        guard !row.isNull(column) else { return PushNotificationRegistration() }
        do throws(WireError) { return try PushNotificationRegistration.decode(row.bytes(column)) } catch { throw .damaged }
    }

    private static func encoded(_ lists: PushNotificationRegistration) -> [UInt8]? {
        let bytes = lists.encoded()
        return bytes.isEmpty ? nil : bytes
    }
}
