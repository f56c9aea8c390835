import Store

/// The changes of the ledger in a transaction.
final class LedgerChanges {
    private var amounts: [Milestone: (count: Int, pruned: Int)] = [:]

    func add(_ milestone: Milestone, count: Int) {
        amounts[milestone, default: (0, 0)].count += count
    }

    /// Notes that rows which stood for a milestone are deleted.
    func add(_ milestone: Milestone, pruned: Int) {
        amounts[milestone, default: (0, 0)].pruned += pruned
    }

    /// Writes the changes as the last statement of the transaction, because other transactions wait for these rows. All of them lock the
    /// rows in the same order.
    func write(to database: Transaction) {
        let changes = amounts.filter { $0.value != (0, 0) }.sorted { $0.key.rawValue < $1.key.rawValue }
        guard !changes.isEmpty else { return }
        database.add(
            """
            INSERT INTO ledger (milestone, count, pruned) SELECT * FROM unnest($1::bytea[], $2::int8[], $3::int8[])
            ON CONFLICT (milestone) DO UPDATE SET count = ledger.count + excluded.count, pruned = ledger.pruned + excluded.pruned
            """,
            SQLArray(changes.map(\.key.rawValue)), SQLArray(changes.map(\.value.count)), SQLArray(changes.map(\.value.pruned)))
    }
}
