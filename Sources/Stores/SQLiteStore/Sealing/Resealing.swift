import Bytes
import Envelope
import GRDB
import PushProtocol
import ServerCrypto
import StatusCrypto
import Store
import Wire

/// One transaction of re-sealing. It seals rows in clear, and rows that an older key has sealed, with the newest key.
struct Resealing {
    /// 500 rows, or 1 MiB of their secrets, in one transaction: some milliseconds of the writer.
    private static let maximumRowCount = 500
    private static let maximumByteCount = 1 << 20
    /// 1,000 pages, 4 MB, that one transaction overwrites.
    private static let maximumPageCount = 1_000

    let transaction: WriteTransaction
    let sealer: Sealer

    private var database: Database { transaction.database }
    private var sealing: RowSealing { transaction.sealing }
    /// The first byte of the values that the newest key has sealed.
    private var newestKey: [UInt8] { [sealer.keys.newest] }

    /// Continues at the stored state and stores the new one.
    func next(_ state: ResealingState) throws {
        let position: Int64?
        switch state.step {
        case .registrations: position = try sealRegistrations(after: state.position)
        case .lists: position = try sealLists(after: state.position)
        case .deadRegistrations: position = try sealDeadRegistrations(after: state.position)
        case .pushes: position = try sealPushes(after: state.position)
        case .replies: position = try sealReplies(after: state.position)
        case .proxyDevices: position = try sealProxyDevices(after: state.position)
        case .originKeys: position = try sealOriginKeys()
        case .originPushes: position = try sealOriginPushes(after: state.position)
        case .suspectTokens: position = try codeDigests(in: "suspect_token", after: state.position)
        case .provenTokens: position = try codeDigests(in: "proven_token", after: state.position)
        case .clearIndexes: position = try dropClearIndexes()
        case .takingFreePages: position = try takeFreePages()
        case .returningFreePages: position = try returnFreePages()
        case .truncatingLog, .done: return
        }
        try database.run("UPDATE sealing SET step = ?, position = ?", position == nil ? state.step.next : state.step, position ?? 0)
    }

    // MARK: Rows

    private func sealRegistrations(after position: Int64) throws -> Int64? {
        let sql = """
            SELECT id, is_live AND \(Self.isStale("secrets")), key_hash, installation_id, \(RowCursor.tokenColumns)
            FROM registration WHERE id > ?1 ORDER BY id
            """
        return try change(sql, position) { row in
            let installation = try row.nextInstallation()
            let tokens = try row.nextTokens(of: installation, sealing)
            return (tokens.byteCount, (installation, tokens))
        } by: { id, registration in
            let (installation, tokens) = registration
            let secrets = sealer.seal(tokens.fields, in: .registration(installation, version: tokens.version))
            try database.run(
                "UPDATE registration SET access_token = NULL, device_token = NULL, secrets = ?, token_code = ? WHERE id = ?",
                secrets, sealer.code(of: tokens.device), id)
        }
    }

    private func sealLists(after position: Int64) throws -> Int64? {
        // SQLite reads the tables of a CROSS JOIN in their order.
        let sql = """
            SELECT registration_lists.registration,
                allowed_keys IS NOT NULL OR chat_lists IS NOT NULL OR substr(sealed_allowed_keys, 1, 1) <> ?2
                    OR substr(sealed_chat_lists, 1, 1) <> ?2,
                key_hash, installation_id, version, allowed_keys, sealed_allowed_keys, chat_lists, sealed_chat_lists
            FROM registration_lists CROSS JOIN registration ON registration.id = registration_lists.registration
            WHERE registration_lists.registration > ?1 ORDER BY registration_lists.registration
            """
        return try change(sql, position) { row in
            let (installation, version): (Installation, UInt64) = (try row.nextInstallation(), try row.next())
            let places = (
                keys: SealedPlace.allowedKeys(of: installation, version: version),
                chats: SealedPlace.chatLists(of: installation, version: version)
            )
            let lists = (keys: try row.nextValue(sealing, in: places.keys), chats: try row.nextValue(sealing, in: places.chats))
            return ((lists.keys?.count ?? 0) + (lists.chats?.count ?? 0), (places, lists))
        } by: { id, row in
            let (places, lists) = row
            try database.run(
                """
                UPDATE registration_lists SET allowed_keys = NULL, chat_lists = NULL, sealed_allowed_keys = ?, sealed_chat_lists = ?
                WHERE registration = ?
                """,
                lists.keys.map { sealer.seal([$0], in: places.keys) }, lists.chats.map { sealer.seal([$0], in: places.chats) }, id)
        }
    }

    private func sealDeadRegistrations(after position: Int64) throws -> Int64? {
        let sql = """
            SELECT id, \(Self.isStale("secrets")), key_hash, plaintext_digest, content, secrets
            FROM dead_registration WHERE id > ?1 ORDER BY id
            """
        return try change(sql, position) { row in
            let place = SealedPlace.deadRegistration(of: try row.next(), digest: try row.next())
            let content = try row.nextValue(sealing, in: place) ?? []
            return (content.count, (place, content))
        } by: { id, row in
            try database.run(
                "UPDATE dead_registration SET content = x'', secrets = ? WHERE id = ?", sealer.seal([row.1], in: row.0), id)
        }
    }

    private func sealPushes(after position: Int64) throws -> Int64? {
        let sql = """
            SELECT id, \(Self.isStale("secrets")), key_hash, installation_id, deduplication_key, \(PushSecrets.columns)
            FROM push INDEXED BY push_open WHERE finished_at IS NULL AND id > ?1 ORDER BY id
            """
        return try change(sql, position) { row in
            let place = SealedPlace.push(to: try row.nextInstallation(), deduplicationKey: try row.next())
            let secrets = try row.nextPushSecrets(sealing, in: place)
            return (secrets.byteCount, (place, secrets))
        } by: { id, row in
            try transaction.store(row.1, ofPush: id, in: row.0)
        }
    }

    private func sealReplies(after position: Int64) throws -> Int64? {
        let sql = """
            SELECT id, reply IS NOT NULL OR substr(sealed_reply, 1, 1) <> ?2, coalesce(recipient, zeroblob(33)), reply, sealed_reply
            FROM message WHERE id > ?1 ORDER BY id
            """
        return try change(
            sql, position,
            withID: { id, row in
                let place = SealedPlace.reply(to: try row.next(), message: id)
                let reply = try row.nextValue(sealing, in: place) ?? []
                return (reply.count, (place, reply))
            }
        ) { id, row in
            try database.run("UPDATE message SET reply = NULL, sealed_reply = ? WHERE id = ?", sealer.seal([row.1], in: row.0), id)
        }
    }

    private func sealProxyDevices(after position: Int64) throws -> Int64? {
        let sql = """
            SELECT id, user_key <> x'' OR voip_token IS NOT NULL OR substr(secrets, 1, 1) <> ?2 OR substr(voip_secrets, 1, 1) <> ?2,
                identifier, removed_at IS NULL, user_key, token, secrets, voip_token, voip_secrets
            FROM nextcloud_device WHERE id > ?1 ORDER BY id
            """
        return try change(sql, position) { row in
            let (identifier, isRegistered): (Digest64, Bool) = (try row.next(), try row.next())
            let secrets = try row.nextProxyDeviceSecrets(of: identifier, sealing)
            return (secrets.userKey.count, (identifier, isRegistered, secrets))
        } by: { id, row in
            let (identifier, isRegistered, secrets) = row
            let sealed = isRegistered ? sealer.seal(secrets.fields, in: .proxyDevice(identifier)) : nil
            let voipToken = isRegistered ? secrets.voipToken : nil
            try database.run(
                """
                UPDATE nextcloud_device SET user_key = x'', token = '', voip_token = NULL, secrets = ?, token_code = ?, voip_secrets = ?,
                    voip_token_code = ?
                WHERE id = ?
                """,
                sealed, isRegistered ? sealer.code(of: secrets.token) : nil,
                voipToken.map { sealer.seal([$0.field], in: .proxyDeviceCalls(identifier)) }, voipToken.map { sealer.code(of: $0) }, id)
        }
    }

    private func sealOriginKeys() throws -> Int64? {
        let users = try database.all(
            """
            SELECT user, sealed, secrets FROM nextcloud_origin_key WHERE secrets IS NULL OR substr(secrets, 1, 1) <> ?1 LIMIT ?2
            """,
            newestKey, Self.maximumRowCount
        ) { row in
            let user: String = try row.next()
            return (user: user, key: try row.nextValue(sealing, in: .originKey(of: user)) ?? [])
        }
        for (user, key) in users {
            try database.run(
                "UPDATE nextcloud_origin_key SET sealed = x'', secrets = ? WHERE user = ?", sealer.seal([key], in: .originKey(of: user)),
                user)
        }
        return users.count < Self.maximumRowCount ? nil : 0
    }

    private func sealOriginPushes(after position: Int64) throws -> Int64? {
        let sql = """
            SELECT push.id, \(Self.isStale("push.secrets")), user, token_id, subject, signature, push.secrets
            FROM nextcloud_origin_push AS push CROSS JOIN nextcloud_origin_device AS device ON device.id = push.device
            WHERE push.id > ?1 ORDER BY push.id
            """
        return try change(sql, position) { row in
            let place = SealedPlace.originPush(to: try row.next(), tokenID: try row.next())
            let content = try row.nextOriginPushContent(sealing, in: place)
            return (content.subject.utf8.count, (place, content))
        } by: { id, row in
            try database.run(
                "UPDATE nextcloud_origin_push SET subject = '', signature = '', secrets = ? WHERE id = ?",
                sealer.seal(row.1.fields, in: row.0), id)
        }
    }

    /// Replaces digests of device tokens by their codes.
    ///
    /// - Parameter position: The first 8 bytes of the last digest. The codes are spread among the digests, and are skipped.
    private func codeDigests(in table: String, after position: Int64) throws -> Int64? {
        var start = FixedBytes<8>()
        for index in 0..<8 { start[index] = UInt8(truncatingIfNeeded: position >> (56 - 8 * Int64(index))) }
        let digests = try database.all(
            "SELECT token_digest, is_coded FROM \(table) WHERE token_digest >= ? ORDER BY token_digest LIMIT ?", start, Self.maximumRowCount
        ) { (digest: try $0.next(Digest32.self), isCoded: try $0.next(Bool.self)) }
        for (digest, isCoded) in digests where !isCoded {
            try database.run(
                "UPDATE OR REPLACE \(table) SET token_digest = ?, is_coded = 1 WHERE token_digest = ?", sealer.code(of: digest), digest)
        }
        return digests.count < Self.maximumRowCount ? nil : digests.last?.digest.prefix
    }

    /// The SQL condition for a row that the newest key, the parameter 2, has not sealed.
    private static func isStale(_ column: String) -> String { "(\(column) IS NULL OR substr(\(column), 1, 1) <> ?2)" }

    /// Reads the next rows of a table and changes those that are due.
    ///
    /// - Parameters:
    ///   - sql: A statement for rows after the parameter 1, in the order of their ids. Its first columns are the id, and whether the row is
    ///     due.
    ///   - read: Reads the other columns; the number is the length of the secrets in bytes.
    /// - Returns: The last row that was read; nil without rows after it.
    private func change<Row>(
        _ sql: String, _ position: Int64, _ read: (inout RowCursor) throws -> (Int, Row), by change: (Int64, Row) throws -> Void
    ) throws -> Int64? {
        try self.change(sql, position, withID: { try read(&$1) }, by: change)
    }

    private func change<Row>(
        _ sql: String, _ position: Int64, withID read: (Int64, inout RowCursor) throws -> (Int, Row), by change: (Int64, Row) throws -> Void
    ) throws -> Int64? {
        var due: [(Int64, Row)] = []
        var (last, rowCount, byteCount) = (position, 0, 0)
        var isAtLimit = false
        try database.step(sql, position, newestKey) { row in
            last = try row.next()
            let isDue: Bool = try row.next()
            let (count, content) = try read(last, &row)
            if isDue { due.append((last, content)) }
            rowCount += 1
            byteCount += count
            isAtLimit = rowCount >= Self.maximumRowCount || byteCount >= Self.maximumByteCount
            return !isAtLimit
        }
        for (id, content) in due { try change(id, content) }
        return isAtLimit ? last : nil
    }

    // MARK: Remains

    private func dropClearIndexes() throws -> Int64? {
        guard try database.hasClearRows() else { return nil }
        try ClearIndexes.drop(database)
        try database.run("UPDATE sealing SET has_clear_rows = 0")
        return nil
    }

    /// Takes free pages for a value of zeros. Pages that became free under `secure_delete = FAST` have their old content.
    private func takeFreePages() throws -> Int64? {
        let freeCount = try database.count("SELECT freelist_count FROM pragma_freelist_count")
        guard freeCount > 0 else { return nil }
        try database.run(
            "INSERT INTO overwriting (content) SELECT zeroblob(? * (page_size - 4)) FROM pragma_page_size",
            min(freeCount, Self.maximumPageCount))
        return 0
    }

    /// Frees the taken pages, which SQLite overwrites.
    private func returnFreePages() throws -> Int64? {
        let changedCount = try database.run("DELETE FROM overwriting WHERE id = (SELECT max(id) FROM overwriting)")
        return changedCount == 0 ? nil : 0
    }
}
