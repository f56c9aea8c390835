import Bytes
import Envelope
import GRDB
import ServerCrypto
import StatusCrypto
package import Store

extension SQLiteStore: OriginStore {
    // MARK: Users and devices

    package func originUserKey(of user: String) async throws -> [UInt8]? {
        try await read { [sealing] in try $0.userKey(of: user, sealing) }
    }

    package func addOriginUserKey(_ sealed: [UInt8], of user: String) async throws -> [UInt8] {
        try await queue.perform { transaction in
            let secrets = try transaction.sealing.seal([sealed], in: .originKey(of: user))
            try transaction.database.run(
                "INSERT INTO nextcloud_origin_key (user, secrets) VALUES (?, ?) ON CONFLICT DO NOTHING", user, secrets)
            return try transaction.database.userKey(of: user, transaction.sealing) ?? sealed
        }
    }

    package func originDevices(of user: String) async throws -> [OriginDevice] {
        try await read { try $0.originDevices(of: user) }
    }

    package func changeOriginDevices<Result: Sendable>(
        of user: String, _ decide: @escaping @Sendable ([OriginDevice]) -> (OriginChange, Result)
    ) async throws -> Result {
        try await queue.perform { transaction in
            let (change, result) = decide(try transaction.database.originDevices(of: user))
            for tokenID in change.removed {
                guard let device = try transaction.database.originDevice(of: user, tokenID) else { continue }
                try transaction.removeOriginDevice(device)
            }
            if let device = change.put { try transaction.put(device) }
            return result
        }
    }

    // MARK: The queue

    package func acceptOriginPushes(_ pushes: [OriginPush], of user: String) async throws {
        try await queue.perform { transaction in
            let database = transaction.database
            let waiting = try database.count("SELECT count(*) FROM nextcloud_origin_push")
            guard waiting < OriginPush.maximumWaitingCount else { throw StoreError.queueFull }
            for push in pushes {
                let content = OriginPushContent(subject: push.subject, signature: push.signature)
                let secrets = try transaction.sealing.seal(content.fields, in: .originPush(to: user, tokenID: push.tokenID))
                try database.run(
                    """
                    INSERT INTO nextcloud_origin_push (device, proxy, secrets, priority, kind, expires_at)
                    SELECT id, proxy, ?, ?, ?, ? FROM nextcloud_origin_device WHERE user = ? AND token_id = ?
                    """,
                    secrets, push.priority.rawValue, push.kind.rawValue, push.expiresAt, user, push.tokenID)
            }
        }
    }

    package func waitingProxies() async throws -> [WaitingProxy] {
        try await read { database in
            try database.all(
                """
                SELECT push.proxy, device.user, max(push.kind = ?)
                FROM nextcloud_origin_push AS push JOIN nextcloud_origin_device AS device ON device.id = push.device
                GROUP BY push.proxy, device.user
                """,
                GatewayNotification.Kind.voip.rawValue
            ) { row in
                let (proxy, user, calls): (String, String, Int64) = (try row.next(), try row.next(), try row.next())
                return WaitingProxy(proxy: proxy, user: user, hasCall: calls > 0)
            }
        }
    }

    package func waitingOriginPushes(to proxy: String, limit: Int) async throws -> [WaitingOriginPush] {
        try await read { [sealing] database in
            // Each of the two queries reads its rows in order from an index.
            func waiting(_ condition: String, limit: Int) throws -> [WaitingOriginPush] {
                try database.all(
                    """
                    SELECT push.id, device.id, identifier, push_token_hash, device.user, token_id, push.secrets, priority,
                        kind, expires_at
                    FROM nextcloud_origin_push AS push JOIN nextcloud_origin_device AS device ON device.id = push.device
                    WHERE push.proxy = ? AND \(condition) ORDER BY push.id LIMIT ?
                    """,
                    proxy, limit
                ) { row in
                    try WaitingOriginPush(
                        id: row.next(), device: row.next(), deviceIdentifier: row.next(), pushTokenHash: row.next(),
                        push: OriginPush(&row, sealing))
                }
            }
            let calls = try waiting("kind = 'voip'", limit: limit)
            return try calls + waiting("kind <> 'voip'", limit: limit - calls.count)
        }
    }

    package func finishOriginPushes(_ finished: [WaitingOriginPush], unknown: Set<String>) async throws {
        try await queue.perform { transaction in
            for push in finished {
                try transaction.database.run("DELETE FROM nextcloud_origin_push WHERE id = ?", push.id)
                guard unknown.contains(push.deviceIdentifier) else { continue }
                let isSame = try transaction.database.count(
                    "SELECT count(*) FROM nextcloud_origin_device WHERE id = ? AND push_token_hash = ?", push.device, push.pushTokenHash)
                if isSame > 0 { try transaction.removeOriginDevice(push.device) }
            }
        }
    }
}

extension WriteTransaction {
    fileprivate func put(_ device: OriginDevice) throws {
        try database.run(
            """
            INSERT INTO nextcloud_origin_device (
                user, token_id, identifier, public_key, push_token_hash, proxy, app_type, last_seen, created_at)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
            ON CONFLICT (user, token_id) DO UPDATE SET
                identifier = excluded.identifier, public_key = excluded.public_key, push_token_hash = excluded.push_token_hash,
                proxy = excluded.proxy, app_type = excluded.app_type, last_seen = excluded.last_seen, created_at = excluded.created_at
            """,
            device.user, device.tokenID, device.identifier, device.publicKey.der, device.pushTokenHash, device.proxy,
            device.appType.rawValue, device.lastSeen, device.createdAt)
        guard let id = try database.originDevice(of: device.user, device.tokenID) else { return }
        try database.run("UPDATE nextcloud_origin_push SET proxy = ? WHERE device = ?", device.proxy, id)
    }

    fileprivate func removeOriginDevice(_ id: Int64) throws {
        try database.run("DELETE FROM nextcloud_origin_push WHERE device = ?", id)
        try database.run("DELETE FROM nextcloud_origin_device WHERE id = ?", id)
    }
}

extension Database {
    fileprivate func userKey(of user: String, _ sealing: RowSealing) throws -> [UInt8]? {
        try first("SELECT secrets FROM nextcloud_origin_key WHERE user = ?", user) { row in
            try row.nextValue(sealing, in: .originKey(of: user)) ?? []
        }
    }

    fileprivate func originDevice(of user: String, _ tokenID: Int64) throws -> Int64? {
        try first("SELECT id FROM nextcloud_origin_device WHERE user = ? AND token_id = ?", user, tokenID) { try $0.next(Int64.self) }
    }

    fileprivate func originDevices(of user: String) throws -> [OriginDevice] {
        try all(
            """
            SELECT token_id, identifier, public_key, push_token_hash, proxy, app_type, last_seen, created_at FROM nextcloud_origin_device
            WHERE user = ? ORDER BY token_id
            """,
            user
        ) { row in
            let (tokenID, identifier): (Int64, String) = (try row.next(), try row.next())
            guard let publicKey = RSAPublicKey(stored: try row.next()) else { throw StoreError.damaged }
            let (hash, proxy): (String, String) = (try row.next(), try row.next())
            guard let appType = AppType(rawValue: try row.next()) else { throw StoreError.damaged }
            return OriginDevice(
                user: user, tokenID: tokenID, identifier: identifier, publicKey: publicKey, pushTokenHash: hash, proxy: proxy,
                appType: appType, lastSeen: try row.next(), createdAt: try row.next())
        }
    }
}

extension OriginPush {
    /// Reads the columns from `user` on.
    fileprivate init(_ row: inout RowCursor, _ sealing: RowSealing) throws {
        let (user, tokenID): (String, Int64) = (try row.next(), try row.next())
        let content = try sealing.originPushContent(row.next(), in: .originPush(to: user, tokenID: tokenID))
        guard let priority = GatewayNotification.Priority(rawValue: try row.next()),
            let kind = GatewayNotification.Kind(rawValue: try row.next())
        else { throw StoreError.damaged }
        self.init(
            tokenID: tokenID, subject: content.subject, signature: content.signature, priority: priority, kind: kind,
            expiresAt: try row.next())
    }
}
