import Bytes
import Envelope
import PushProtocol
import StatusCrypto
import Store
import Wire

/// Installations as two columns of an array parameter.
struct InstallationColumns {
    let keyHashes: SQLArray<Digest64>
    let installationIDs: SQLArray<String>

    init(_ installations: [Installation]) {
        keyHashes = SQLArray(installations.map(\.keyHash))
        installationIDs = SQLArray(installations.map(\.installationID))
    }
}

extension Command {
    /// Locks the rows of owners in the order of their keys, so that two transactions never wait for each other.
    ///
    /// - Parameter adding: The keys whose rows are made if they do not exist.
    static func lockOwners(_ keyHashes: Set<Digest64>, adding: Set<Digest64>) -> [Command] {
        let all = keyHashes.union(adding)
        guard !all.isEmpty else { return [] }
        return [
            Command(
                "INSERT INTO owner (key_hash) SELECT * FROM unnest($1::bytea[]) AS new (key_hash) ORDER BY key_hash ON CONFLICT DO NOTHING",
                SQLArray(adding)),
            Command("SELECT true FROM owner WHERE key_hash = ANY($1) ORDER BY key_hash FOR UPDATE", SQLArray(all)),
        ]
    }

    /// Selects all installations of keys, for ``RowCursor/nextInstallationState()``.
    static func installations(of keyHashes: Set<Digest64>) -> Command {
        Command(
            """
            SELECT key_hash, installation_id, id, version, plaintext_digest, is_live, was_registered, updated_at,
                \(ListColumn.byteCount("sealed_allowed_keys")) + \(ListColumn.byteCount("sealed_chat_lists")),
                \(ListColumn.byteCount("sealed_allowed_keys")), delivered_at IS NOT NULL
            FROM registration WHERE key_hash = ANY($1)
            """,
            SQLArray(keyHashes))
    }

    /// Selects the live registrations that pushes are for, for ``RowCursor/nextTarget(loading:_:)``.
    static func targets(_ installations: some Collection<Installation>) -> Command {
        let columns = InstallationColumns(Array(installations))
        return Command(
            """
            SELECT key_hash, installation_id, id, delivered_at IS NOT NULL, \(RowCursor.tokenColumns), enabled, token_type, apn_topic,
                block_mentions, blocked_chats, muted_chats, allowed_mentions_chats
            FROM unnest($1::bytea[], $2::bytea[]) AS wanted (key_hash, installation_id)
            JOIN registration USING (key_hash, installation_id) WHERE is_live
            """,
            columns.keyHashes, columns.installationIDs)
    }
}

extension RowCursor {
    mutating func nextInstallation() throws -> Installation {
        Installation(keyHash: try next(), installationID: try next())
    }

    mutating func nextTopics() throws -> QueryTopics {
        QueryTopics(plain: try next(), prefixed: try next())
    }

    /// Reads the columns of ``Command/installations(of:)``.
    mutating func nextInstallationState() throws -> (Installation, StoredInstallation, StoredInstallationState) {
        let (installation, id) = (try nextInstallation(), try next(Int64.self))
        let (version, digest): (UInt64, Digest32) = (try next(), try next())
        let (isLive, wasRegistered): (Bool, Bool) = (try next(), try next())
        let stored = StoredInstallation(
            row: id, version: StoredVersion(version: version, plaintextDigest: digest, isRegistered: isLive), wasRegistered: wasRegistered)
        let live = LiveInstallation(
            version: stored.version, registeredAt: try next(), listByteCount: try next(), contactByteCount: try next(),
            isProven: try next())
        return (installation, stored, isLive ? .live(live) : wasRegistered ? .tombstone : .unknownTombstone)
    }

    /// Reads the columns of ``Command/targets(_:)``.
    ///
    /// - Parameter entries: Returns the chats and authors to look for in an installation's lists.
    mutating func nextTarget(
        loading entries: (Installation) -> Set<[UInt8]>, _ secrets: DatabaseSecrets
    ) throws -> (Installation, PushTargetRow, PushTarget) {
        let installation = try nextInstallation()
        let row = PushTargetRow(row: try next(), hasWorked: try next())
        let entries = entries(installation)
        let (tokens, fingerprints) = (try nextTokens(of: installation, secrets.sealing), secrets.fingerprints)
        var target = PushTarget()
        (target.accessToken, target.deviceToken) = (tokens.access, tokens.device)
        target.enabled = try next()
        target.tokenType = try next()
        target.apnTopic = try next()
        target.blockMentions = try next()
        target.blockedChatList = fingerprints.entries(entries, in: try next())
        target.mutedChatList = fingerprints.entries(entries, in: try next())
        target.allowedMentionsChatList = fingerprints.entries(entries, in: try next())
        return (installation, row, target)
    }
}
