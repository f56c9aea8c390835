import Bytes
import Envelope
import ServerCrypto
import StatusCrypto
package import Store

extension PostgreSQLStore: OriginStore {
    // MARK: Users and devices

    package func originUserKey(of user: String) async throws -> [UInt8]? {
        try await read { [sealing] in try $0.userKey(of: user, sealing) }
    }

    package func addOriginUserKey(_ sealed: [UInt8], of user: String) async throws -> [UInt8] {
        try await write { transaction in
            let secrets = try transaction.sealing.seal([sealed], in: .originKey(of: user))
            transaction.database.add(
                "INSERT INTO nextcloud_origin_key (user_name, secrets) VALUES ($1, $2) ON CONFLICT DO NOTHING", user, secrets)
            return try transaction.database.userKey(of: user, transaction.sealing) ?? sealed
        }
    }

    package func originDevices(of user: String) async throws -> [OriginDevice] {
        try await read { try $0.originDevices(of: user) }
    }

    package func changeOriginDevices<Result: Sendable>(
        of user: String, _ decide: @escaping @Sendable ([OriginDevice]) -> (OriginChange, Result)
    ) async throws -> Result {
        try await write { transaction in
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
        try await write { transaction in
            let database = transaction.database
            let waiting = try database.count("SELECT count(*) FROM nextcloud_origin_push")
            guard waiting < OriginPush.maximumWaitingCount else { throw StoreError.queueFull }
            for push in pushes {
                let content = OriginPushContent(subject: push.subject, signature: push.signature)
                let secrets = try transaction.sealing.seal(content.fields, in: .originPush(to: user, tokenID: push.tokenID))
                database.add(
                    """
                    INSERT INTO nextcloud_origin_push (device, proxy, secrets, priority, kind, expires_at, server)
                    SELECT id, proxy, $1, $2, $3, $4, $7 FROM nextcloud_origin_device WHERE user_name = $5 AND token_id = $6
                    """,
                    secrets, push.priority.rawValue, push.kind.rawValue, push.expiresAt, user, push.tokenID, transaction.server)
            }
        }
    }

    package func waitingProxies() async throws -> [WaitingProxy] {
        try await write { transaction in
            _ = try transaction.takeOriginPushes()
            return try transaction.waitingProxies()
        }
    }

    package func waitingOriginPushes(to proxy: String, limit: Int) async throws -> [WaitingOriginPush] {
        let server = number
        return try await read { [sealing] database in
            // Each of the two queries reads its rows in order from an index.
            func waiting(_ condition: String, limit: Int) throws -> [WaitingOriginPush] {
                try database.all(
                    """
                    SELECT push.id, device.id, identifier, push_token_hash, user_name, token_id, secrets, priority, kind,
                        expires_at
                    FROM nextcloud_origin_push AS push JOIN nextcloud_origin_device AS device ON device.id = push.device
                    WHERE push.proxy = $1 AND push.server = $3 AND \(condition) ORDER BY push.id LIMIT $2
                    """,
                    proxy, limit, server
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
        try await write { transaction in
            for push in finished {
                try transaction.database.run("DELETE FROM nextcloud_origin_push WHERE id = $1", push.id)
                guard unknown.contains(push.deviceIdentifier) else { continue }
                let isSame = try transaction.database.count(
                    "SELECT count(*) FROM nextcloud_origin_device WHERE id = $1 AND push_token_hash = $2", push.device, push.pushTokenHash)
                if isSame > 0 { try transaction.removeOriginDevice(push.device) }
            }
        }
    }
}

extension WriteTransaction {
    /// Takes the pushes of fenced members.
    ///
    /// - Returns: Whether there were any.
    func takeOriginPushes() throws -> Bool {
        let fenced = "SELECT number FROM server WHERE is_fenced"
        return try database.run("UPDATE nextcloud_origin_push SET server = $1 WHERE server IN (\(fenced))", server) > 0
    }

    /// Returns the proxies for which this server's pushes wait.
    func waitingProxies() throws -> [WaitingProxy] {
        try database.all(
            """
            SELECT push.proxy, device.user_name, bool_or(push.kind = $1)
            FROM nextcloud_origin_push AS push JOIN nextcloud_origin_device AS device ON device.id = push.device
            WHERE push.server = $2 GROUP BY push.proxy, device.user_name
            """,
            GatewayNotification.Kind.voip.rawValue, server
        ) { row in
            let (proxy, user, calls): (String, String, Bool) = (try row.next(), try row.next(), try row.next())
            return WaitingProxy(proxy: proxy, user: user, hasCall: calls)
        }
    }

    fileprivate func put(_ device: OriginDevice) throws {
        try database.run(
            """
            INSERT INTO nextcloud_origin_device (
                user_name, token_id, identifier, public_key, push_token_hash, proxy, app_type, last_seen, created_at)
            VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
            ON CONFLICT (user_name, token_id) DO UPDATE SET
                identifier = excluded.identifier, public_key = excluded.public_key, push_token_hash = excluded.push_token_hash,
                proxy = excluded.proxy, app_type = excluded.app_type, last_seen = excluded.last_seen, created_at = excluded.created_at
            """,
            device.user, device.tokenID, device.identifier, device.publicKey.der, device.pushTokenHash, device.proxy,
            device.appType.rawValue, device.lastSeen, device.createdAt)
        guard let id = try database.originDevice(of: device.user, device.tokenID) else { return }
        try database.run("UPDATE nextcloud_origin_push SET proxy = $1 WHERE device = $2", device.proxy, id)
    }

    fileprivate func removeOriginDevice(_ id: Int64) throws {
        try database.run("DELETE FROM nextcloud_origin_push WHERE device = $1", id)
        try database.run("DELETE FROM nextcloud_origin_device WHERE id = $1", id)
    }
}

extension Transaction {
    fileprivate func userKey(of user: String, _ sealing: RowSealing) throws -> [UInt8]? {
        try first("SELECT secrets FROM nextcloud_origin_key WHERE user_name = $1", user) { row in
            try row.nextValue(sealing, in: .originKey(of: user)) ?? []
        }
    }

    fileprivate func originDevice(of user: String, _ tokenID: Int64) throws -> Int64? {
        try first("SELECT id FROM nextcloud_origin_device WHERE user_name = $1 AND token_id = $2", user, tokenID) {
            try $0.next(Int64.self)
        }
    }

    fileprivate func originDevices(of user: String) throws -> [OriginDevice] {
        try all(
            """
            SELECT token_id, identifier, public_key, push_token_hash, proxy, app_type, last_seen, created_at FROM nextcloud_origin_device
            WHERE user_name = $1 ORDER BY token_id
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
    /// Reads the columns from `user_name` on.
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
