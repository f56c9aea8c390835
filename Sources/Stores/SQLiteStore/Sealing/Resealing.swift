import Bytes
import Envelope
import GRDB
import PushProtocol
import ServerCrypto
import StatusCrypto
import Store
import Wire

/// One transaction of re-sealing. It seals rows that an older key has sealed with the newest key.
struct Resealing {
    /// One transaction takes this many rows, or 1 MiB of their secrets, in a few milliseconds of the writer.
    private static let maximumRowCount = 500
    private static let maximumByteCount = 1 << 20
    /// One transaction overwrites this many pages, 4 MB.
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
        case .takingFreePages: position = try takeFreePages()
        case .returningFreePages: position = try returnFreePages()
        case .truncatingLog, .done: return
        }
        try database.run("UPDATE sealing SET step = ?, position = ?", position == nil ? state.step.next : state.step, position ?? 0)
    }

    // MARK: Rows

    private func sealRegistrations(after position: Int64) throws -> Int64? {
        let sql = """
            SELECT id, \(Self.isStale("secrets")), key_hash, installation_id, \(RowCursor.tokenColumns)
            FROM registration WHERE id > ?1 ORDER BY id
            """
        return try change(sql, position) { _, row in
            let installation = try row.nextInstallation()
            let tokens = try row.nextTokens(of: installation, sealing)
            return (tokens.byteCount, (installation, tokens))
        } by: { id, registration in
            let (installation, tokens) = registration
            let secrets = sealer.seal(tokens.fields, in: .registration(installation, version: tokens.version))
            try database.run("UPDATE registration SET secrets = ? WHERE id = ?", secrets, id)
        }
    }

    private func sealLists(after position: Int64) throws -> Int64? {
        // SQLite reads the tables of a CROSS JOIN in their order.
        let sql = """
            SELECT registration_lists.registration,
                \(Self.isStale("sealed_allowed_keys")) OR \(Self.isStale("sealed_chat_lists")),
                key_hash, installation_id, version, sealed_allowed_keys, sealed_chat_lists
            FROM registration_lists CROSS JOIN registration ON registration.id = registration_lists.registration
            WHERE registration_lists.registration > ?1 ORDER BY registration_lists.registration
            """
        return try change(sql, position) { _, row in
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
                "UPDATE registration_lists SET sealed_allowed_keys = ?, sealed_chat_lists = ? WHERE registration = ?",
                sealing.seal(value: lists.keys, in: places.keys), sealing.seal(value: lists.chats, in: places.chats), id)
        }
    }

    private func sealDeadRegistrations(after position: Int64) throws -> Int64? {
        let sql = """
            SELECT id, \(Self.isStale("secrets")), key_hash, plaintext_digest, secrets FROM dead_registration WHERE id > ?1 ORDER BY id
            """
        return try change(sql, position) { _, row in
            let place = SealedPlace.deadRegistration(of: try row.next(), digest: try row.next())
            let content = try row.nextValue(sealing, in: place) ?? []
            return (content.count, (place, content))
        } by: { id, row in
            try database.run("UPDATE dead_registration SET secrets = ? WHERE id = ?", sealer.seal([row.1], in: row.0), id)
        }
    }

    private func sealPushes(after position: Int64) throws -> Int64? {
        let sql = """
            SELECT id, \(Self.isStale("secrets")), key_hash, installation_id, deduplication_key, secrets
            FROM push INDEXED BY push_open WHERE finished_at IS NULL AND id > ?1 ORDER BY id
            """
        return try change(sql, position) { _, row in
            let place = SealedPlace.push(to: try row.nextInstallation(), deduplicationKey: try row.next())
            let secrets = try sealing.pushSecrets(row.next(), in: place)
            return (secrets.byteCount, (place, secrets))
        } by: { id, row in
            try transaction.store(row.1, ofPush: id, in: row.0)
        }
    }

    private func sealReplies(after position: Int64) throws -> Int64? {
        let sql = """
            SELECT id, \(Self.isStale("sealed_reply")), recipient, sealed_reply FROM message WHERE id > ?1 ORDER BY id
            """
        return try change(sql, position) { id, row in
            let place = SealedPlace.reply(to: try row.next(), message: id)
            let reply = try row.nextValue(sealing, in: place) ?? []
            return (reply.count, (place, reply))
        } by: { id, row in
            try database.run("UPDATE message SET sealed_reply = ? WHERE id = ?", sealer.seal([row.1], in: row.0), id)
        }
    }

    private func sealProxyDevices(after position: Int64) throws -> Int64? {
        let sql = """
            SELECT id, \(Self.isStale("secrets")) OR \(Self.isStale("voip_secrets")), identifier, secrets, voip_secrets
            FROM nextcloud_device WHERE id > ?1 ORDER BY id
            """
        return try change(sql, position) { _, row in
            let identifier: Digest64 = try row.next()
            let secrets = try row.nextProxyDeviceSecrets(of: identifier, sealing)
            return (secrets.userKey.count, (identifier, secrets))
        } by: { id, row in
            let (identifier, secrets) = row
            try database.run(
                "UPDATE nextcloud_device SET secrets = ?, voip_secrets = ? WHERE id = ?",
                sealer.seal(secrets.fields, in: .proxyDevice(identifier)),
                secrets.voipToken.map { sealer.seal([$0.field], in: .proxyDeviceCalls(identifier)) }, id)
        }
    }

    private func sealOriginKeys() throws -> Int64? {
        let users = try database.all(
            "SELECT user, secrets FROM nextcloud_origin_key WHERE substr(secrets, 1, 1) <> ?1 LIMIT ?2", newestKey, Self.maximumRowCount
        ) { row in
            let user: String = try row.next()
            return (user: user, key: try row.nextValue(sealing, in: .originKey(of: user)) ?? [])
        }
        for (user, key) in users {
            try database.run(
                "UPDATE nextcloud_origin_key SET secrets = ? WHERE user = ?", sealer.seal([key], in: .originKey(of: user)), user)
        }
        return users.count < Self.maximumRowCount ? nil : 0
    }

    private func sealOriginPushes(after position: Int64) throws -> Int64? {
        let sql = """
            SELECT push.id, \(Self.isStale("push.secrets")), user, token_id, push.secrets
            FROM nextcloud_origin_push AS push CROSS JOIN nextcloud_origin_device AS device ON device.id = push.device
            WHERE push.id > ?1 ORDER BY push.id
            """
        return try change(sql, position) { _, row in
            let place = SealedPlace.originPush(to: try row.next(), tokenID: try row.next())
            let content = try sealing.originPushContent(row.next(), in: place)
            return (content.subject.utf8.count, (place, content))
        } by: { id, row in
            try database.run(
                "UPDATE nextcloud_origin_push SET secrets = ? WHERE id = ?", sealer.seal(row.1.fields, in: row.0), id)
        }
    }

    /// The SQL condition for a value that the newest key, the parameter 2, has not sealed.
    private static func isStale(_ column: String) -> String { "coalesce(substr(\(column), 1, 1) <> ?2, 0)" }

    /// Reads the next rows of a table and changes those that are due.
    ///
    /// - Parameters:
    ///   - sql: A statement for rows after the parameter 1, in the order of their ids. Its first columns are the id, and whether the row is
    ///     due.
    ///   - read: Reads the other columns of a row that is due. The number is the length of its secrets in bytes.
    /// - Returns: The last row that was read, or nil without rows after it.
    private func change<Row>(
        _ sql: String, _ position: Int64, _ read: (Int64, inout RowCursor) throws -> (Int, Row), by change: (Int64, Row) throws -> Void
    ) throws -> Int64? {
        var (due, damaged): ([(Int64, Row)], [Int64]) = ([], [])
        var (last, rowCount, byteCount) = (position, 0, 0)
        var isAtLimit = false
        try database.step(sql, position, newestKey) { row in
            last = try row.next()
            if try row.next(Bool.self) {
                // A row that does not open keeps its value: it must not stop the others.
                if let (count, content) = try row.readable(last, or: &damaged, { try read(last, &$0) }) {
                    due.append((last, content))
                    byteCount += count
                }
            } else {
                row.skipRest()
            }
            rowCount += 1
            isAtLimit = rowCount >= Self.maximumRowCount || byteCount >= Self.maximumByteCount
            return !isAtLimit
        }
        for (id, content) in due { try change(id, content) }
        return isAtLimit ? last : nil
    }

    // MARK: Remains

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
