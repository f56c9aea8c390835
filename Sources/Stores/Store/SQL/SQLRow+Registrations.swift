package import Bytes
import Envelope
package import PushProtocol
import Wire

extension SQLRow {
    /// Reads an installation from the next two columns.
    package mutating func nextInstallation() throws -> Installation {
        Installation(keyHash: try next(), installationID: try next())
    }

    /// Reads query topics from the next two columns.
    package mutating func nextTopics() throws -> QueryTopics { QueryTopics(plain: try next(), prefixed: try next()) }

    /// Reads the deliveries to a target from the next two columns, the last one first.
    package mutating func nextDeliveries() throws -> Deliveries? {
        let (last, first): (Timestamp?, Timestamp?) = (try next(), try next())
        return last.map { Deliveries(first: first ?? $0, last: $0) }
    }

    /// Reads an installation's last version from the next three columns: the version, the digest, and whether it is registered.
    package mutating func nextVersion() throws -> StoredVersion {
        StoredVersion(version: try next(), plaintextDigest: try next(), isRegistered: try next())
    }
}

// MARK: Registrations

extension RegistrationTokens {
    /// The columns of ``SQLRow/nextTokens(of:_:)``.
    package static let columns = "registration.version, registration.secrets"
}

extension PushTarget {
    /// The columns of ``SQLRow/nextPushTarget(_:loading:_:)``.
    package static let columns = """
        registration.id, delivered_at IS NOT NULL, \(RegistrationTokens.columns), updated_at, enabled, token_type, apn_topic,
        block_mentions, blocked_chats, muted_chats, allowed_mentions_chats
        """
}

extension QueryableRegistration {
    /// The columns of ``SQLRow/nextQueryable(_:)``.
    package static let columns = """
        key_hash, installation_id, \(RegistrationTokens.columns), updated_at, grant_signature, allow_from_contacts_only,
        sealed_allowed_keys
        """
}

extension StoredInstallationState {
    /// The columns of ``SQLRow/nextInstallationState()``.
    ///
    /// - Parameter byteCount: Returns the SQL expression for the length of a stored list.
    package static func columns(byteCount: (String) -> String) -> String {
        """
        version, plaintext_digest, is_live, was_registered, updated_at,
        \(byteCount("sealed_allowed_keys")) + \(byteCount("sealed_chat_lists")), \(byteCount("sealed_allowed_keys")),
        delivered_at IS NOT NULL
        """
    }
}

extension SQLRow {
    /// Reads the tokens of a registration, and its version.
    package mutating func nextTokens(of installation: Installation, _ sealing: RowSealing) throws -> RegistrationTokens {
        let version: UInt64 = try next()
        return try sealing.registrationTokens(next(), of: installation, version: version)
    }

    /// Reads the data of a live registration that a push request needs.
    ///
    /// - Parameter entries: The chats and authors to look for in its lists.
    /// - Returns: Its row, and the data, or nil if they are damaged.
    package mutating func nextPushTarget(
        _ installation: Installation, loading entries: Set<[UInt8]>, _ secrets: DatabaseSecrets
    ) throws -> (row: PushTargetRow, target: PushTarget?) {
        let row = PushTargetRow(row: try next(), hasWorked: try next())
        return (row, try readable { try $0.nextTarget(installation, loading: entries, secrets) })
    }

    private mutating func nextTarget(
        _ installation: Installation, loading entries: Set<[UInt8]>, _ secrets: DatabaseSecrets
    ) throws -> PushTarget {
        let (tokens, fingerprints) = (try nextTokens(of: installation, secrets.sealing), secrets.fingerprints)
        var target = PushTarget()
        (target.accessToken, target.deviceToken) = (tokens.access, tokens.device)
        target.registeredAt = try next()
        target.enabled = try next()
        target.tokenType = try next()
        target.apnTopic = try next()
        target.blockMentions = try next()
        target.blockedChatList = fingerprints.entries(entries, in: try next())
        target.mutedChatList = fingerprints.entries(entries, in: try next())
        target.allowedMentionsChatList = fingerprints.entries(entries, in: try next())
        return target
    }

    /// Reads a registration as the response to a query shows it, and the hash of its key.
    package mutating func nextQueryable(_ sealing: RowSealing) throws -> (keyHash: Digest64, registration: QueryableRegistration) {
        let installation = try nextInstallation()
        let tokens = try nextTokens(of: installation, sealing)
        var registration = QueryableRegistration()
        registration.installationID = installation.installationID
        (registration.accessToken, registration.version) = (tokens.access, tokens.version)
        registration.registeredAt = try next()
        registration.grant = try next()
        registration.allowFromContactsOnly = try next()
        let lists: PushNotificationRegistration = try nextMessage(
            sealing, in: .allowedKeys(of: installation, version: tokens.version))
        registration.allowedKeyList = lists.allowedKeyList
        return (installation.keyHash, registration)
    }

    /// Reads the state of an installation, its last version, and whether it was ever registered.
    package mutating func nextInstallationState() throws -> (
        state: StoredInstallationState, version: StoredVersion, wasRegistered: Bool
    ) {
        let (version, wasRegistered): (StoredVersion, Bool) = (try nextVersion(), try next())
        let live = LiveInstallation(
            version: version, registeredAt: try next(), listByteCount: try next(), contactByteCount: try next(), isProven: try next())
        return (version.isRegistered ? .live(live) : wasRegistered ? .tombstone : .unknownTombstone, version, wasRegistered)
    }
}
