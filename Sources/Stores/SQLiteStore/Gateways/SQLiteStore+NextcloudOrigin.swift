import Bytes
import Envelope
import GRDB
package import Store
import StoreSQL

extension SQLiteStore: OriginStore {
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
