import Bytes
import Envelope
import PushProtocol
import ServerCrypto
import StatusCrypto
import Store
import Wire

/// One transaction of re-sealing. It seals rows that an older key has sealed with the newest key.
///
/// It locks the rows that it reads: otherwise it could write back secrets that another transaction has erased meanwhile.
struct Resealing {
    /// One transaction takes this many rows, or 1 MiB of their secrets, and holds its locks for a few milliseconds.
    private static let maximumRowCount = 500
    private static let maximumByteCount = 1 << 20

    let transaction: WriteTransaction
    let sealer: Sealer

    private var database: Transaction { transaction.database }
    private var sealing: RowSealing { transaction.sealing }
    /// The first byte of the values that the newest key has sealed.
    private var newestKey: [UInt8] { [sealer.keys.newest] }

    /// Continues at the stored state and stores the new one.
    func next(_ state: ResealingState) throws {
        let position: [UInt8]?
        switch state.step {
        case .registrations: position = try sealRegistrations(after: state.position)
        case .deadRegistrations: position = try sealDeadRegistrations(after: state.position)
        case .pushes: position = try sealPushes(after: state.position)
        case .replies: position = try sealReplies(after: state.position)
        case .proxyDevices: position = try sealProxyDevices(after: state.position)
        case .originKeys: position = try sealOriginKeys(after: state.position)
        case .originPushes: position = try sealOriginPushes(after: state.position)
        case .done: return
        }
        let step = position == nil ? state.step.next : state.step
        database.add("UPDATE sealing SET step = $1, position = $2", step, position ?? [])
        if step == .done { database.add("DELETE FROM sealing_key WHERE key_id <> (SELECT key_id FROM sealing)") }
    }

    private func sealRegistrations(after position: [UInt8]) throws -> [UInt8]? {
        let rows = StepRows(
            table: "registration", key: "id",
            byteCount: "\(ListColumn.byteCount("sealed_allowed_keys")) + \(ListColumn.byteCount("sealed_chat_lists"))",
            condition: "is_live",
            columns: "key_hash, installation_id, \(RowCursor.tokenColumns), sealed_allowed_keys, sealed_chat_lists",
            isStale: Self.isStale("secrets"))
        return try change(rows, after: position) { (_: Int64, row: inout RowCursor) in
            let installation = try row.nextInstallation()
            let tokens = try row.nextTokens(of: installation, sealing)
            let keys = SealedPlace.allowedKeys(of: installation, version: tokens.version)
            let chats = SealedPlace.chatLists(of: installation, version: tokens.version)
            return (
                secrets: sealer.seal(tokens.fields, in: .registration(installation, version: tokens.version)),
                allowedKeys: try row.nextValue(sealing, in: keys).map { sealer.seal([$0], in: keys) },
                chatLists: try row.nextValue(sealing, in: chats).map { sealer.seal([$0], in: chats) }
            )
        } by: { id, row in
            database.add(
                """
                UPDATE registration SET secrets = $1, sealed_allowed_keys = $2, sealed_chat_lists = $3 WHERE id = $4
                """,
                row.secrets, row.allowedKeys, row.chatLists, id)
        }
    }

    private func sealDeadRegistrations(after position: [UInt8]) throws -> [UInt8]? {
        let rows = StepRows(
            table: "dead_registration", key: "id", byteCount: "coalesce(octet_length(secrets), 0)",
            columns: "key_hash, plaintext_digest, secrets", isStale: Self.isStale("secrets"))
        return try change(rows, after: position) { (_: Int64, row: inout RowCursor) in
            let place = SealedPlace.deadRegistration(of: try row.next(), digest: try row.next())
            return sealer.seal([try row.nextValue(sealing, in: place) ?? []], in: place)
        } by: { id, secrets in
            database.add("UPDATE dead_registration SET secrets = $1 WHERE id = $2", secrets, id)
        }
    }

    private func sealPushes(after position: [UInt8]) throws -> [UInt8]? {
        let rows = StepRows(
            table: "push", key: "id",
            byteCount: "coalesce(octet_length(secrets), 0)", condition: OpenPushes.inOrder,
            columns: "key_hash, installation_id, deduplication_key, secrets", isStale: Self.isStale("secrets"))
        return try change(rows, after: position) { (_: Int64, row: inout RowCursor) in
            let place = SealedPlace.push(to: try row.nextInstallation(), deduplicationKey: try row.next())
            return (place: place, secrets: try sealing.pushSecrets(row.next(), in: place))
        } by: { id, row in
            try transaction.store(row.secrets, ofPush: id, in: row.place)
        }
    }

    private func sealReplies(after position: [UInt8]) throws -> [UInt8]? {
        let rows = StepRows(
            table: "message", key: "id", byteCount: "coalesce(octet_length(sealed_reply), 0)", columns: "recipient, sealed_reply",
            isStale: Self.isStale("sealed_reply"))
        return try change(rows, after: position) { (id: Int64, row: inout RowCursor) in
            let place = SealedPlace.reply(to: try row.next(), message: id)
            return sealer.seal([try row.nextValue(sealing, in: place) ?? []], in: place)
        } by: { id, reply in
            database.add("UPDATE message SET sealed_reply = $1 WHERE id = $2", reply, id)
        }
    }

    private func sealProxyDevices(after position: [UInt8]) throws -> [UInt8]? {
        let rows = StepRows(
            table: "nextcloud_device", key: "identifier", columns: "secrets, voip_secrets",
            isStale: "\(Self.isStale("secrets")) OR \(Self.isStale("voip_secrets"))")
        return try change(rows, after: position) { (key: [UInt8], row: inout RowCursor) in
            guard let identifier = Digest64(key) else { throw StoreError.damaged }
            return (identifier: identifier, secrets: try row.nextProxyDeviceSecrets(of: identifier, sealing))
        } by: { key, row in
            database.add(
                "UPDATE nextcloud_device SET secrets = $1, voip_secrets = $2 WHERE identifier = $3",
                sealer.seal(row.secrets.fields, in: .proxyDevice(row.identifier)),
                row.secrets.voipToken.map { sealer.seal([$0.field], in: .proxyDeviceCalls(row.identifier)) }, key)
        }
    }

    private func sealOriginKeys(after position: [UInt8]) throws -> [UInt8]? {
        let rows = StepRows(
            table: "nextcloud_origin_key", key: "user_name", columns: "secrets", isStale: Self.isStale("secrets"))
        return try change(rows, after: position) { (user: [UInt8], row: inout RowCursor) in
            let place = SealedPlace.originKey(of: String(decoding: user, as: UTF8.self))
            return sealer.seal([try row.nextValue(sealing, in: place) ?? []], in: place)
        } by: { user, secrets in
            database.add("UPDATE nextcloud_origin_key SET secrets = $1 WHERE user_name = $2", secrets, user)
        }
    }

    private func sealOriginPushes(after position: [UInt8]) throws -> [UInt8]? {
        let rows = StepRows(
            table: "nextcloud_origin_push", join: "JOIN nextcloud_origin_device AS device ON device.id = nextcloud_origin_push.device",
            key: "id", columns: "user_name, token_id, secrets", isStale: Self.isStale("secrets"))
        return try change(rows, after: position) { (_: Int64, row: inout RowCursor) in
            let place = SealedPlace.originPush(to: try row.next(), tokenID: try row.next())
            return sealer.seal(try sealing.originPushContent(row.next(), in: place).fields, in: place)
        } by: { id, secrets in
            database.add("UPDATE nextcloud_origin_push SET secrets = $1 WHERE id = $2", secrets, id)
        }
    }

    /// The SQL condition for a value that the newest key, the parameter 2, has not sealed.
    private static func isStale(_ column: String) -> String { "substr(\(column), 1, 1) <> $2" }

    private struct StepRows {
        let table: String
        var join = ""
        /// The column whose order the step follows.
        let key: String
        /// The SQL expression for the length of a row's secrets.
        var byteCount = "0"
        /// The SQL condition for the rows that the step examines.
        var condition = "true"
        /// The columns that the step reads.
        let columns: String
        /// The SQL condition for the rows that are due.
        let isStale: String
    }

    /// Examines the next rows of a table and changes those that are due.
    ///
    /// - Parameter read: Reads a row's columns.
    /// - Returns: The last row's position, or nil without rows after `position`.
    private func change<Key: ResealingPosition, Row>(
        _ rows: StepRows, after position: [UInt8], _ read: (Key, inout RowCursor) throws -> Row, by change: (Key, Row) throws -> Void
    ) throws -> [UInt8]? {
        let (table, key) = (rows.table, "\(rows.table).\(rows.key)")
        let keys = try database.all(
            """
            SELECT key FROM (
                SELECT key, byte_count, sum(byte_count) OVER (ORDER BY key) AS total FROM (
                    SELECT \(key) AS key, (\(rows.byteCount))::int8 AS byte_count FROM \(table)
                    WHERE \(rows.condition) AND \(key) > $1 ORDER BY \(key) LIMIT \(Self.maximumRowCount)
                ) AS following
            ) AS counted
            WHERE total - byte_count < \(Self.maximumByteCount) ORDER BY key
            """,
            Key(position: position)
        ) { try $0.next(Key.self) }
        guard let last = keys.last else { return nil }
        var damaged: [Int64] = []
        let due = try database.all(
            """
            SELECT \(key), \(rows.columns) FROM \(table) \(rows.join)
            WHERE \(key) = ANY($1) AND \(rows.condition) AND (\(rows.isStale)) ORDER BY \(key) FOR UPDATE OF \(table)
            """,
            SQLArray(keys), newestKey
        ) { row in
            let key: Key = try row.next()
            // A row that does not open keeps its value: it must not stop the others.
            return (key: key, content: try row.readable(0, or: &damaged) { try read(key, &$0) })
        }
        for row in due { if let content = row.content { try change(row.key, content) } }
        return last.position
    }
}
