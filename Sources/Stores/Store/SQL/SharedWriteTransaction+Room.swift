package import Envelope

extension SharedWriteTransaction {
    /// Ends the oldest waiting pushes of the device that never worked and has the most, because the share of such devices is full.
    ///
    /// - Parameter outbox: Remembers the devices of the last search.
    /// - Returns: The number of pushes. 0 if each device has only one.
    package func makeRoom(in route: String, _ outbox: OutboxChanges, at now: Timestamp) throws -> Int {
        if outbox.crowded(in: route, { $0.mustSearch(at: now) }) {
            let counts = try database.all(
                """
                SELECT device, count(*) AS waiting FROM \(Database.dialect.openPushesByDevice) AND device IS NOT NULL
                GROUP BY device ORDER BY waiting DESC LIMIT $1
                """, CrowdedDevices.maximumCount
            ) { (device: try $0.next(DeviceCode.self), count: try $0.next(Int.self)) }
            outbox.crowded(in: route) { $0.found(counts, room: outbox.room, at: now) }
        }
        // Devices that have worked are among those found, and lose nothing.
        while let (device, count) = outbox.crowded(in: route, { $0.next() }) {
            let ended = try expireOldestPushes(to: device, route: route, reason: .queueFull, count: count, at: now)
            if ended > 0 { return ended }
        }
        outbox.crowded(in: route) { $0.foundNone(at: now) }
        return 0
    }
}
