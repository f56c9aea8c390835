package import Bytes
package import Envelope
package import PushProtocol
import StatusCrypto
package import Store
import Wire

extension WriteTransaction {
    /// Stores registrations in place of earlier ones or of tombstones.
    ///
    /// - Parameter registrations: Registrations of different installations.
    /// - Returns: The row of each, which an installation keeps permanently.
    func register(_ registrations: [(registration: Registration, topics: QueryTopics)], at now: Timestamp) throws -> [Int64] {
        guard !registrations.isEmpty else { return [] }
        let contents = registrations.map(\.registration.content)
        let installations = InstallationColumns(registrations.map(\.registration.installation))
        let secrets = try registrations.map { try RegistrationColumns($0.registration, sealing) }
        let writtenCodes = try contents.map { try sealing.code(of: $0.deviceToken) }
        // A registration with another token or bundle id has no delivery yet. A row of 0.1.0 has the code of its token as it was written.
        database.add(
            """
            UPDATE registration SET delivered_at = NULL, first_delivered_at = NULL
            FROM unnest($1::bytea[], $2::bytea[], $3::int8[], $4::bytea[], $5::bytea[], $6::bytea[])
                AS new (key_hash, installation_id, token_type, apn_topic, token_code, written_code)
            WHERE registration.key_hash = new.key_hash AND registration.installation_id = new.installation_id AND delivered_at IS NOT NULL
                AND (registration.token_type <> new.token_type OR registration.apn_topic <> new.apn_topic
                    OR registration.token_code IS DISTINCT FROM new.token_code
                        AND registration.token_code IS DISTINCT FROM new.written_code)
            """,
            installations.keyHashes, installations.installationIDs, SQLArray(contents.map(\.tokenType)), SQLArray(contents.map(\.apnTopic)),
            SQLArray(secrets.map(\.tokenCode)), SQLArray(writtenCodes))
        let rows = try database.all(
            """
            INSERT INTO registration (
                is_live, was_registered, updated_at, key_hash, installation_id, version, plaintext_digest, token_type, enabled,
                allow_from_contacts_only, block_mentions, apn_topic, grant_signature, blocked_chats, muted_chats,
                allowed_mentions_chats, plain_topic, prefixed_topic, secrets, token_code, sealed_allowed_keys, sealed_chat_lists)
            SELECT true, true, $1, * FROM unnest(
                $2::bytea[], $3::bytea[], $4::int8[], $5::bytea[], $6::int8[], $7::bool[], $8::bool[], $9::bool[], $10::bytea[],
                $11::bytea[], $12::bytea[], $13::bytea[], $14::bytea[], $15::int8[], $16::int8[], $17::bytea[], $18::bytea[],
                $19::bytea[], $20::bytea[])
            ON CONFLICT (key_hash, installation_id) DO UPDATE SET
                is_live = true, was_registered = true, updated_at = excluded.updated_at, version = excluded.version,
                plaintext_digest = excluded.plaintext_digest, token_type = excluded.token_type, enabled = excluded.enabled,
                allow_from_contacts_only = excluded.allow_from_contacts_only, block_mentions = excluded.block_mentions,
                apn_topic = excluded.apn_topic, grant_signature = excluded.grant_signature, blocked_chats = excluded.blocked_chats,
                muted_chats = excluded.muted_chats,
                allowed_mentions_chats = excluded.allowed_mentions_chats, plain_topic = excluded.plain_topic,
                prefixed_topic = excluded.prefixed_topic, secrets = excluded.secrets, token_code = excluded.token_code,
                sealed_allowed_keys = excluded.sealed_allowed_keys, sealed_chat_lists = excluded.sealed_chat_lists
            RETURNING key_hash, installation_id, id
            """,
            now, installations.keyHashes, installations.installationIDs, SQLArray(contents.map(\.version)),
            SQLArray(registrations.map(\.registration.plaintextDigest)), SQLArray(contents.map(\.tokenType)),
            SQLArray(contents.map(\.enabled)), SQLArray(contents.map(\.allowFromContactsOnly)), SQLArray(contents.map(\.blockMentions)),
            SQLArray(contents.map(\.apnTopic)), SQLArray(contents.map(\.grant)),
            SQLArray(contents.map { fingerprints.column(for: $0.blockedChatList) }),
            SQLArray(contents.map { fingerprints.column(for: $0.mutedChatList) }),
            SQLArray(contents.map { fingerprints.column(for: $0.allowedMentionsChatList) }),
            SQLArray(registrations.map(\.topics.plain)), SQLArray(registrations.map(\.topics.prefixed)), SQLArray(secrets.map(\.secrets)),
            SQLArray(secrets.map(\.tokenCode)), SQLArray(secrets.map(\.allowedKeys)), SQLArray(secrets.map(\.chatLists))
        ) { (try $0.nextInstallation(), try $0.next(Int64.self)) }
        let ids = Dictionary(rows) { first, _ in first }
        // Their tokens may have changed.
        let waiting = try database.all(
            """
            SELECT DISTINCT push.route, push.device FROM push JOIN registration ON registration.id = push.registration
            WHERE push.registration = ANY($1) AND \(OpenPushes.ofTarget) AND registration.delivered_at IS NULL AND push.server = $2
            """,
            SQLArray(rows.map(\.1)), server
        ) { (route: try $0.next(String.self), device: try $0.next(DeviceCode.self)) }
        for (route, device) in waiting { outbox.changed(device, in: route) }
        return try registrations.map { registration, _ in
            guard let id = ids[registration.installation] else { throw StoreError.damaged }
            return id
        }
    }

    /// Replaces a registration by a tombstone, even if none existed. With the last installation of a key, deletes its topic keys.
    ///
    /// - Parameter stored: The present row of the installation; nil if it is unknown.
    package func unregister(
        _ installation: Installation, replacing stored: StoredInstallation?, version: UInt64, plaintextDigest: Digest32, at now: Timestamp
    ) throws {
        if stored == nil { deleteExcessUnknownTombstones(of: installation.keyHash) }
        database.add(
            """
            INSERT INTO registration (is_live, was_registered, updated_at, key_hash, installation_id, version, plaintext_digest)
            VALUES (false, $1, $2, $3, $4, $5, $6)
            ON CONFLICT (key_hash, installation_id) DO UPDATE SET
                is_live = false, updated_at = excluded.updated_at, version = excluded.version,
                plaintext_digest = excluded.plaintext_digest, token_type = NULL, enabled = NULL, allow_from_contacts_only = NULL,
                block_mentions = NULL, apn_topic = NULL, grant_signature = NULL, blocked_chats = NULL, muted_chats = NULL,
                allowed_mentions_chats = NULL, plain_topic = NULL, prefixed_topic = NULL, delivered_at = NULL,
                first_delivered_at = NULL, secrets = NULL, token_code = NULL,
                sealed_allowed_keys = NULL, sealed_chat_lists = NULL
            """,
            stored?.wasRegistered ?? false, now, installation.keyHash, installation.installationID, version, plaintextDigest)
        guard let stored, stored.version.isRegistered else { return }
        try withdrawPushes(to: installation, at: now)
        database.add(
            """
            DELETE FROM topic_key
            WHERE key_hash = $1 AND NOT EXISTS (SELECT 1 FROM registration WHERE key_hash = $1 AND is_live)
            """,
            installation.keyHash)
    }

    /// Deletes the oldest tombstones of a key without an earlier registration, so that the limit allows one more.
    private func deleteExcessUnknownTombstones(of keyHash: Digest64) {
        database.add(
            """
            DELETE FROM registration WHERE id IN (
                SELECT id FROM registration WHERE key_hash = $1 AND NOT is_live AND NOT was_registered
                ORDER BY updated_at DESC, id DESC OFFSET $2
            )
            """,
            keyHash, ProtocolLimits.maximumUnknownTombstonesPerKey - 1)
    }
}
