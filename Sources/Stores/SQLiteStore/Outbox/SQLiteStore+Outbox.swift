import Bytes
package import Envelope
import GRDB
import PushProtocol
import StatusCrypto
package import Store
import Wire

extension SQLiteStore {
    package func takeOverOutbox(routes: Set<RouteAssignment>, latest: Timestamp) async throws -> Int {
        try await queue.perform { transaction in
            let database = transaction.database
            try database.run("DELETE FROM damaged_row WHERE kind IN ('push', 'registration')")
            let leaseCount = try database.run(
                """
                UPDATE push SET state = \(OpenPushState.unknown.rawValue), next_attempt_at = \(NextAttempt.now)
                WHERE finished_at IS NULL AND state = \(OpenPushState.leased.rawValue)
                """)
            transaction.count(.uncertain, by: leaseCount)
            try database.run(
                "UPDATE push SET next_attempt_at = \(NextAttempt.now) WHERE finished_at IS NULL AND next_attempt_at > ?", latest)
            if try database.assignedRoutes() != routes { try transaction.reassign(to: routes) }
            return leaseCount
        }
    }

    package func tell(_ listener: @escaping @Sendable (_ route: String, _ arrivals: Arrivals) -> Void) { outbox.tell(listener) }

    package func waitingDevices(route: String, trust: PushTrust, after last: DeviceCode?, limit: Int) async throws -> [DeviceCode] {
        try await read { database in
            var devices: [DeviceCode] = []
            var last = last
            while devices.count < limit {
                let next: DeviceCode? =
                    if let last {
                        try database.first(Self.selectNextDevice, route, trust, last) { try $0.next() }
                    } else {
                        try database.first(Self.selectFirstDevice, route, trust) { try $0.next() }
                    }
                guard let next else { break }
                devices.append(next)
                last = next
            }
            return devices
        }
    }

    private static let selectFirstDevice = """
        SELECT device FROM push INDEXED BY push_waiting
        WHERE route = ? AND trust = ? AND finished_at IS NULL AND device IS NOT NULL AND next_attempt_at < \(NextAttempt.held)
        ORDER BY device LIMIT 1
        """
    private static let selectNextDevice = """
        SELECT device FROM push INDEXED BY push_waiting
        WHERE route = ? AND trust = ? AND finished_at IS NULL AND device > ? AND next_attempt_at < \(NextAttempt.held)
        ORDER BY device LIMIT 1
        """

    package func pushes(
        _ choices: [PushChoice], route: String, acceptedSince oldest: Timestamp, at now: Timestamp
    ) async throws -> [FoundPush] {
        let (found, damaged) = try await read { [sealing] database in
            var damaged: [Int64] = []
            let hasSuspects = try database.first("SELECT 1 FROM suspect_token LIMIT 1") { try $0.next(Int.self) } != nil
            let found = try choices.map { choice -> FoundPush in
                let (id, isTried) = try database.nextPush(choice, in: route, acceptedSince: oldest, at: now)
                guard let id else {
                    guard case .next(let device, _) = choice else { return .nothing }
                    let time = try database.first(Self.selectNextTime, device, route, now, oldest) { try $0.next(Timestamp?.self) }
                    return time.flatMap(\.self).map(FoundPush.later) ?? .nothing
                }
                let push =
                    try database.first(Self.selectQueuedPush, id) { row in
                        try row.readable(id, or: &damaged) { try $0.nextQueuedPush(id, sealing) }
                    }?.flatMap { try database.addressed($0, or: &damaged, sealing) }
                guard let push else { return choice.isOfDevice ? .moved : .nothing }
                var others: Timestamp?
                if isTried, case .next(let device, let rows) = choice {
                    others = try database.all(Self.selectOtherTimes, device, route, oldest, rows.count + 2) {
                        (try $0.next(Int64.self), try $0.next(Timestamp.self))
                    }.first { $0.0 != id && !rows.contains($0.0) }?.1
                }
                return .push(try database.withHistory(push, sealing, hasSuspects: hasSuspects), others: others)
            }
            return (found, damaged)
        }
        try await setAside(damaged, .push)
        return try await moving(found, in: route)
    }

    private static let selectQueuedPush = """
        SELECT \(QueuedPush.columns)
        FROM push LEFT JOIN registration AS target ON target.id = push.registration AND target.is_live = 1
        WHERE push.id = ? AND push.finished_at IS NULL AND push.next_attempt_at < \(NextAttempt.held)
        """
    private static let selectNextTime = """
        SELECT min(next_attempt_at) FROM push INDEXED BY push_by_device
        WHERE device = ? AND finished_at IS NULL AND route = ? AND next_attempt_at > ? AND next_attempt_at < \(NextAttempt.held)
            AND trust <> \(PushTrust.call.rawValue) AND accepted_at >= ?
        """
    private static let selectOtherTimes = """
        SELECT id, next_attempt_at FROM push INDEXED BY push_by_device
        WHERE device = ? AND finished_at IS NULL AND route = ? AND next_attempt_at < \(NextAttempt.held)
            AND trust <> \(PushTrust.call.rawValue) AND accepted_at >= ? ORDER BY next_attempt_at LIMIT ?
        """

    package func expirePushes(route: String, acceptedBefore oldest: Timestamp, limit: Int, at now: Timestamp) async throws -> Int {
        let expired = try await read { database in
            try database.oldest(
                limit: limit, before: oldest, at: now,
                of: "SELECT id, accepted_at, route, next_attempt_at FROM push WHERE finished_at IS NULL ORDER BY id"
            ) { row in
                let (queue, next): (String, NextAttempt) = (try row.next(), try row.next())
                return queue == route && next < .held
            }
        }
        guard !expired.isEmpty else { return 0 }
        return try await queue.perform { transaction in
            try transaction.finish(expired, as: .expired, reason: .lifetime, at: now)
        }
    }

    package func update(_ update: OutboxUpdate, at now: Timestamp) async throws -> UpdatedOutbox {
        try await queue.perform { transaction in
            var updated = UpdatedOutbox()
            updated.unregistered = try transaction.apply(update, at: now)
            return updated
        }
    }

    package func queuedPushCounts() async throws -> [String: Int] {
        try await read { database in
            let counts = try database.all("SELECT route, count(*) FROM push WHERE finished_at IS NULL GROUP BY route") { row in
                (try row.next(String.self), try row.next(Int.self))
            }
            return Dictionary(counts) { first, _ in first }
        }
    }

    // An operator's command only reads, and a server may be running: a second connection writes between two transactions of the server.

    package func hold(_ holds: [RouteHold]) async throws { try Self.change(pool.path) { try $0.hold(holds) } }

    package func resume(_ routes: Set<String>) async throws -> [RouteHold] { try Self.change(pool.path) { try $0.resume(routes) } }
}

extension Database {
    /// Adds the suspicion against the device token of a push and, for a push without registration, the last delivery to it.
    ///
    /// - Parameter hasSuspects: Whether any token is suspected. If none is, the function reads no suspicion.
    fileprivate func withHistory(_ push: QueuedPush, _ sealing: RowSealing, hasSuspects: Bool) throws -> QueuedPush {
        guard hasSuspects || push.registration == nil else { return push }
        var push = push
        let code = try sealing.code(of: push.targetDigest)
        if hasSuspects {
            push.suspicion = try suspicion(code: code)
        }
        if push.registration == nil {
            let sql = "SELECT delivered_at, first_delivered_at FROM proven_token WHERE token_digest = ?"
            push.tokenDeliveries = try first(sql, code) { try $0.nextDeliveries() } ?? nil
        }
        return push
    }
}

extension WriteTransaction {
    /// Stores the assignments and moves open pushes to the queues of their new routes.
    fileprivate func reassign(to routes: Set<RouteAssignment>) throws {
        try database.run("DELETE FROM route")
        for route in routes {
            try database.run(
                "INSERT INTO route (token_type, apn_topic, name) VALUES (?, ?, ?)", route.tokenType, route.apnTopic, route.route)
        }
        try database.run(
            """
            UPDATE push SET route = \(RouteTable.assigned)
            WHERE finished_at IS NULL AND route <> \(RouteTable.assigned)
            """)
    }
}

extension Database {
    /// Returns the row of the push to attempt, or nil if none may be attempted now, and whether it was tried before.
    ///
    /// Tried pushes of a device are few, because its attempts are rare: an untried one is found behind them.
    fileprivate func nextPush(
        _ choice: PushChoice, in route: String, acceptedSince oldest: Timestamp, at now: Timestamp
    ) throws -> (id: Int64?, isTried: Bool) {
        switch choice {
        case .row(let id): return (id, false)
        case .next(let device, let rows):
            func first(_ sql: String) throws -> Int64? {
                try all(sql, device, route, now, oldest, rows.count + 1) { try $0.next(Int64.self) }.first { !rows.contains($0) }
            }
            if let untried = try first(Self.selectUntried) { return (untried, false) }
            return (try first(Self.selectTried), true)
        }
    }

    private static let selectUntried = """
        SELECT id FROM push INDEXED BY push_by_device
        WHERE device = ? AND finished_at IS NULL AND route = ? AND next_attempt_at <= ? AND attempts = 0 AND accepted_at >= ?
            AND trust <> \(PushTrust.call.rawValue)
        ORDER BY id LIMIT ?
        """
    private static let selectTried = """
        SELECT id FROM push INDEXED BY push_by_device
        WHERE device = ? AND finished_at IS NULL AND route = ? AND next_attempt_at <= ? AND attempts > 0 AND accepted_at >= ?
            AND trust <> \(PushTrust.call.rawValue)
        ORDER BY attempted_at, id LIMIT ?
        """
}
