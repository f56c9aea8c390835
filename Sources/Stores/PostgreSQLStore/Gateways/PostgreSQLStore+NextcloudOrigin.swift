import Bytes
import Envelope
package import Store
import StoreSQL

extension PostgreSQLStore: OriginStore {
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
}

extension WriteTransaction {
    /// Takes the pushes of fenced members.
    ///
    /// - Returns: Whether there were any.
    func takeOriginPushes() throws -> Bool {
        let fenced = "SELECT number FROM server WHERE is_fenced"
        return try database.run(
            """
            UPDATE nextcloud_origin_push SET server = $1
            WHERE id = ANY(ARRAY(SELECT id FROM nextcloud_origin_push WHERE server IN (\(fenced)) FOR UPDATE SKIP LOCKED))
            """, server) > 0
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
