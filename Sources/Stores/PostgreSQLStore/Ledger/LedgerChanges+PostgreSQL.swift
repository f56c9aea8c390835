import Store

extension LedgerChanges {
    /// Writes the changes as the last statement of the transaction, because other transactions wait for these rows. All of them lock the
    /// rows in the same order.
    ///
    /// - Parameter server: The name of this server.
    func write(to database: Transaction, of server: String) {
        let changes = amounts.filter { $0.value != (0, 0) }.sorted { $0.key.rawValue < $1.key.rawValue }
        guard !changes.isEmpty else { return }
        database.add(
            """
            INSERT INTO ledger (server_name, milestone, count, pruned)
            SELECT $1, * FROM unnest($2::bytea[], $3::int8[], $4::int8[])
            ON CONFLICT (server_name, milestone) DO UPDATE
            SET count = ledger.count + excluded.count, pruned = ledger.pruned + excluded.pruned
            """,
            server, SQLArray(changes.map(\.key.rawValue)), SQLArray(changes.map(\.value.count)), SQLArray(changes.map(\.value.pruned)))
    }
}
