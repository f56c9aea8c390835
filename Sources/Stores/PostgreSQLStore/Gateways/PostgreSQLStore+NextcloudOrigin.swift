package import Store

extension PostgreSQLStore: OriginStore {
    package func waitingProxies() async throws -> [WaitingProxy] {
        try await write { transaction in
            _ = try transaction.takeOriginPushes()
            return try transaction.database.waitingProxies(of: transaction.server)
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
}
