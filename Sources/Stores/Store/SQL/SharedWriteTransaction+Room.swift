package import Envelope
import PushProtocol

extension SharedWriteTransaction {
    /// Finds a slot for a push. In a full queue, a waiting push of the device with the most gives way, if that has at least two more than
    /// this one: of many pushes to one phone the first stay, and nobody who has few is rejected while somebody has many. Of calls the
    /// oldest gives way, because its caller has waited longest. A device that never worked displaces only such devices, and what a device
    /// has above a burst of pushes.
    ///
    /// - Returns: Whether there is a slot. The caller rejects the push otherwise.
    package func takeSlot(_ slot: OutboxSlot, for device: DeviceCode, at now: Timestamp) throws -> Bool {
        if outbox.reserve(slot) { return true }
        if outbox.mustCount(slot.queue, at: now) {
            let (count, newCount) = try countOpenPushes(slot.queue)
            outbox.counted(slot.queue, count, ofNewDevices: newCount, at: now)
            if outbox.reserve(slot) { return true }
        }
        guard try makeRoom(for: device, slot, at: now) else {
            outbox.reject(in: slot.queue.route)
            return false
        }
        return true
    }

    /// Counts a queue, and returns whether three quarters of its slots are taken.
    package func isNearlyFull(_ queue: OutboxSlot.Queue, at now: Timestamp) throws -> Bool {
        let (count, newCount) = try countOpenPushes(queue)
        outbox.counted(queue, count, ofNewDevices: newCount, at: now)
        return outbox.isNearlyFull(queue)
    }

    private func countOpenPushes(_ queue: OutboxSlot.Queue) throws -> (all: Int, new: Int) {
        let isNew = queue.group == .calls ? "NOT has_worked" : "trust <> \(PushTrust.proven.rawValue)"
        return try database.first(
            """
            SELECT count(*), count(*) FILTER (WHERE \(isNew)) FROM push
            WHERE \(Database.dialect.isWaiting) AND route = $1 AND trust IN (\(queue.group.trusts)) \(isOwned("$2"))
            """,
            queue.route, owner
        ) { (all: try $0.next(Int.self), new: try $0.next(Int.self)) } ?? (0, 0)
    }

    /// Ends a push of the device with the most.
    ///
    /// - Returns: Whether one has ended, whose slot the new push has now.
    private func makeRoom(for device: DeviceCode, _ slot: OutboxSlot, at now: Timestamp) throws -> Bool {
        guard slot.isOfNewDevice else { return try displace(for: device, slot, fromNewDevices: false, at: now) }
        // In an outage, strangers' tokens must not take what honest phones wait for.
        if slot.queue.group == .knownBundleIDs, outbox.hasRoomForNewDevices(in: slot.queue),
            try displace(for: device, slot, fromNewDevices: false, leaving: ProtocolLimits.pushCapacity, at: now)
        {
            return true
        }
        return try displace(for: device, slot, fromNewDevices: true, at: now)
    }

    /// - Parameters:
    ///   - areNew: Whether only devices that never worked make room.
    ///   - leastCount: So many pushes of a device stay.
    private func displace(
        for device: DeviceCode, _ slot: OutboxSlot, fromNewDevices areNew: Bool, leaving leastCount: Int = 0, at now: Timestamp
    ) throws -> Bool {
        let queue = slot.queue
        let trusts = areNew && queue.group == .knownBundleIDs ? "\(PushTrust.unproven.rawValue)" : queue.group.trusts
        let worked = areNew && queue.group == .calls ? "AND NOT has_worked" : ""
        func heaviest<Result: Sendable>(_ body: (inout HeaviestDevices) -> Result) -> Result {
            outbox.heaviest(in: queue, isOfNewDevices: areNew, body)
        }
        if heaviest({ $0.mustSearch(at: now) }) {
            let counts = try database.all(
                """
                SELECT device, count(*) AS waiting FROM push
                WHERE \(Database.dialect.isWaiting) AND route = $1 AND trust IN (\(trusts)) \(worked) \(isOwned("$3"))
                GROUP BY device HAVING count(*) > 1 ORDER BY waiting DESC LIMIT $2
                """,
                queue.route, HeaviestDevices.maximumCount, owner
            ) { (device: try $0.next(DeviceCode.self), count: try $0.next(Int.self)) }
            heaviest { $0.found(counts, at: now) }
        }
        while let (other, count) = heaviest({ $0.first }) {
            guard other != device, count > leastCount else { return false }
            // To count the rows of one that has many would cost as much at each push.
            let ownCount = try heaviest({ $0.count(of: device) }) ?? waitingCount(of: device, queue, trusts, atMost: count)
            guard ownCount + 2 <= count else { return false }
            let order = queue.group == .calls ? "" : "DESC"
            let row = try database.first(
                """
                SELECT id, trust, has_worked FROM push
                WHERE device = $1 AND \(Database.dialect.isOfDevice) AND route = $2 AND trust IN (\(trusts)) \(worked) \(isOwned("$3"))
                    AND state = \(OpenPushState.queued.rawValue) AND next_attempt_at < \(NextAttempt.held)
                ORDER BY id \(order) LIMIT 1 \(Database.dialect.skippingLocked)
                """,
                other, queue.route, owner
            ) { (id: try $0.next(Int64.self), trust: try $0.next(PushTrust.self), hasWorked: try $0.next(Bool.self)) }
            heaviest { $0.lighten(endedCount: row == nil ? 0 : 1) }
            guard let row else { continue }
            try finish([row.id], as: .refused, reason: .queueFull, at: now)
            outbox.reject(in: queue.route)
            // Both slots are of one queue: only whether the device is new may differ.
            let given = OutboxSlot(
                route: queue.route, trust: row.trust, hasWorked: row.trust == .call ? row.hasWorked : row.trust == .proven)
            outbox.exchange(given, for: slot)
            heaviest { $0.grew(device) }
            return true
        }
        return false
    }

    private func waitingCount(of device: DeviceCode, _ queue: OutboxSlot.Queue, _ trusts: String, atMost limit: Int) throws -> Int {
        try database.count(
            """
            SELECT count(*) FROM (
                SELECT id FROM push
                WHERE device = $1 AND \(Database.dialect.isOfDevice) AND route = $2 AND trust IN (\(trusts)) \(isOwned("$4"))
                LIMIT $3
            ) AS waiting
            """,
            device, queue.route, limit, owner)
    }

    /// The condition, after others, that a push belongs to this server.
    ///
    /// - Parameter parameter: That of ``owner``.
    func isOwned(_ parameter: String) -> String { Database.dialect.isOwned(parameter) }
}

extension OutboxSlot.Group {
    /// The trusts for `IN (…)`.
    fileprivate var trusts: String { levels.map { "\($0.rawValue)" }.joined(separator: ", ") }
}
