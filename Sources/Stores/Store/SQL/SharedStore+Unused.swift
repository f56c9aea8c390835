package import Envelope

extension SharedStore {
    /// Returns how many registrations and devices may be removed as unused on a day that is not in the table yet, or nil if it is. Their
    /// number is counted beside the writer, because that takes a second for each million.
    package func unusedBudget(ofNewDayAt now: Timestamp) async throws -> Int? {
        try await reading { database in
            let isKnown = try database.count("SELECT count(*) FROM delivering_day WHERE day = $1", DeliveringDays.day(of: now)) > 0
            guard !isKnown else { return nil }
            let count = try database.count(
                """
                SELECT (SELECT count(*) FROM registration WHERE is_live AND delivered_at IS NOT NULL)
                    + (SELECT count(*) FROM nextcloud_device WHERE removed_at IS NULL)
                """)
            return DeliveringDays.budget(among: count)
        }
    }
}

extension SharedWriteTransaction {
    /// Removes what was unused for a lifetime, counted in the days on which the server could deliver, of which today is one.
    ///
    /// - Parameters:
    ///   - budget: Today's budget, or nil if the table has it.
    ///   - row: The row after which the search continues.
    ///   - limit: How many rows are examined.
    package func removeUnused(
        for lifetime: Duration, budget: Int?, after row: Int64, limit: Int, at now: Timestamp
    ) throws -> UnusedRegistrations {
        let today = DeliveringDays.day(of: now)
        if let budget {
            try database.add(
                "INSERT INTO delivering_day (day, unused_budget) VALUES ($1, $2) ON CONFLICT (day) DO NOTHING", today, budget)
        }
        let oldestDay = try database.first(
            "SELECT day FROM delivering_day ORDER BY day DESC LIMIT 1 OFFSET $1", DeliveringDays.count(in: lifetime) - 1
        ) { try $0.next(Int64.self) }
        guard let oldest = oldestDay.map(DeliveringDays.start) else { return UnusedRegistrations(gone: [], lastRow: 0) }
        let stored = try database.first("SELECT unused_budget FROM delivering_day WHERE day = $1", today) { try $0.next(Int.self) }
        var remaining = max(0, stored ?? 0)
        remaining -= try database.removeDevices(unusedSince: oldest, at: now, limit: min(limit, remaining))
        let last = try database.first(
            "SELECT max(id) FROM (SELECT id FROM registration WHERE id > $1 ORDER BY id LIMIT $2) AS swept", row, limit
        ) { try $0.next(Int64?.self) }
        var gone: [ChangedRegistration] = []
        if let last = last ?? nil, row < last {
            gone = try unregister(unusedSince: oldest, among: (row + 1)...last, within: &remaining, at: now)
        }
        try database.add("UPDATE delivering_day SET unused_budget = $2 WHERE day = $1", today, remaining)
        return UnusedRegistrations(gone: gone, lastRow: (last ?? nil) ?? 0)
    }
}
