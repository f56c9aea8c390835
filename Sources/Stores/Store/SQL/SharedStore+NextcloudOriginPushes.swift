extension SharedStore {
    package func waitingOriginPushes(to proxy: String, limit: Int) async throws -> [WaitingOriginPush] {
        let owner = owner
        return try await reading { [sealing, damagedRows] in
            try $0.waitingOriginPushes(to: proxy, of: owner, limit: limit, sealing, damagedRows)
        }
    }

    package func acceptOriginPushes(_ pushes: [OriginPush], of user: String) async throws {
        try await writing { transaction in
            let (database, dialect) = (transaction.database, Reading.dialect)
            let waiting = try database.count("SELECT count(*) FROM nextcloud_origin_push")
            guard waiting < OriginPush.maximumWaitingCount else { throw StoreError.queueFull }
            for push in pushes {
                let content = OriginPushContent(subject: push.subject, signature: push.signature)
                let secrets = try transaction.sealing.seal(content.fields, in: .originPush(to: user, tokenID: push.tokenID))
                try database.add(
                    """
                    INSERT INTO nextcloud_origin_push
                        (device, proxy, secrets, priority, kind, expires_at\(dialect.hasOwners ? ", server" : ""))
                    SELECT id, proxy, $1, $2, $3, $4\(dialect.hasOwners ? ", $7" : "")
                    FROM nextcloud_origin_device WHERE \(dialect.user) = $5 AND token_id = $6
                    """,
                    secrets, push.priority.rawValue, push.kind.rawValue, push.expiresAt, user, push.tokenID, transaction.owner)
            }
        }
    }
}

extension SQLDatabase {
    /// Returns the proxies for which pushes of a server wait.
    package func waitingProxies(of owner: Int64?) throws -> [WaitingProxy] {
        let user = "device.\(Self.dialect.user)"
        return try all(
            """
            SELECT push.proxy, \(user), count(CASE WHEN push.kind = $1 THEN 1 END) > 0
            FROM nextcloud_origin_push AS push JOIN nextcloud_origin_device AS device ON device.id = push.device
            WHERE \(isOwn("$2")) GROUP BY push.proxy, \(user)
            """,
            GatewayNotification.Kind.voip.rawValue, owner
        ) { WaitingProxy(proxy: try $0.next(), user: try $0.next(), hasCall: try $0.next()) }
    }

    /// Returns pushes of a server that wait for a proxy: calls first, then the oldest.
    fileprivate func waitingOriginPushes(
        to proxy: String, of owner: Int64?, limit: Int, _ sealing: RowSealing, _ damagedRows: DamagedRows
    ) throws -> [WaitingOriginPush] {
        var damaged: [Int64] = []
        defer { damagedRows.note(damaged, of: "nextcloud_origin_push") }
        // Each of the two queries reads its rows in order from an index.
        func waiting(_ condition: String, limit: Int) throws -> [WaitingOriginPush] {
            try all(
                """
                SELECT push.id, device.id, identifier, push_token_hash, device.\(Self.dialect.user), token_id, push.secrets, priority, kind,
                    expires_at
                FROM nextcloud_origin_push AS push JOIN nextcloud_origin_device AS device ON device.id = push.device
                WHERE push.proxy = $1 AND \(isOwn("$3")) AND \(condition) ORDER BY push.id LIMIT $2
                """,
                proxy, limit, owner
            ) { row in
                let id: Int64 = try row.next()
                return try row.readable(id, or: &damaged) { row in
                    try WaitingOriginPush(
                        id: id, device: row.next(), deviceIdentifier: row.next(), pushTokenHash: row.next(),
                        push: row.originPush(sealing))
                }
            }.compactMap(\.self)
        }
        let calls = try waiting("kind = 'voip'", limit: limit)
        return try calls + waiting("kind <> 'voip'", limit: limit - calls.count)
    }

    /// Returns the condition that a waiting push belongs to the server whose number the parameter is.
    private func isOwn(_ parameter: String) -> String { Self.dialect.hasOwners ? "push.server = \(parameter)" : "true" }
}

extension SQLRow {
    /// Reads the columns from the user on.
    fileprivate mutating func originPush(_ sealing: RowSealing) throws -> OriginPush {
        let (user, tokenID): (String, Int64) = (try next(), try next())
        let content = try sealing.originPushContent(next(), in: .originPush(to: user, tokenID: tokenID))
        guard let priority = GatewayNotification.Priority(rawValue: try next()),
            let kind = GatewayNotification.Kind(rawValue: try next())
        else { throw StoreError.damaged }
        return OriginPush(
            tokenID: tokenID, subject: content.subject, signature: content.signature, priority: priority, kind: kind,
            expiresAt: try next())
    }
}
