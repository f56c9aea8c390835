import Bytes
package import Envelope
import GRDB
import PushProtocol
import StatusCrypto
package import Store
import Synchronization
import Wire

extension SQLiteStore {
    package func takeOverOutbox(routes: Set<RouteAssignment>, latest: Timestamp) async throws -> Int {
        try await queue.perform { transaction in
            let database = transaction.database
            try database.run("DELETE FROM damaged_row WHERE kind = 'push'")
            let leaseCount = try database.run(
                """
                UPDATE push SET state = \(OpenPushState.unknown.rawValue), next_attempt_at = \(NextAttempt.now)
                WHERE finished_at IS NULL AND state = \(OpenPushState.leased.rawValue)
                """)
            transaction.count(.uncertain, by: leaseCount)
            try database.run(
                "UPDATE push SET next_attempt_at = \(NextAttempt.now) WHERE finished_at IS NULL AND next_attempt_at > ?", latest)
            if try database.assignedRoutes() != routes { try transaction.reassign(to: routes) }
            for route in Set(routes.map(\.route)) {
                transaction.outbox.reread(route)
                try transaction.findRounds(of: route)
            }
            return leaseCount
        }
    }

    package func waitingPushes(route: String, at now: Timestamp, limits: [PushTrust: Int]) async throws -> WaitingPushes {
        let (read, nameless) = try await read { [outbox] database in
            var read = WaitingPushes()
            var nameless: [Int64] = []
            for (trust, limit) in limits {
                var progress = outbox.fairQueue.withLock { $0.beginReading(trust: trust, in: route) }
                for part in OutboxFairQueue.Part.allCases {
                    let place = progress[part]
                    var count = 0
                    try database.forEach(Self.selectWaiting, route, trust, place.next, place.id, part.end(at: now), limit) { row in
                        let (next, id): (NextAttempt, Int64) = (try row.next(), try row.next())
                        let (device, isTried): (DeviceCode?, Bool) = (try row.next(), try row.next())
                        count += 1
                        progress[part] = .init(next: next, id: id)
                        if let device {
                            read.pushes.append(WaitingPush(id: id, device: device, trust: trust, isTried: isTried))
                        } else {
                            nameless.append(id)
                        }
                    }
                    if count == limit { read.unfinishedQueues.insert(trust) }
                }
                outbox.fairQueue.withLock { [progress] in $0.endReading(at: progress, trust: trust, in: route) }
            }
            read.next = try PushTrust.allCases.compactMap { trust in
                try database.first(Self.selectNextDue, route, trust, now) { try $0.next(Timestamp.self) }
            }.min()
            return (read, nameless)
        }
        guard !nameless.isEmpty else { return read }
        var named = read
        named.pushes += try await name(nameless)
        return named
    }

    private static let selectWaiting = """
        SELECT next_attempt_at, id, device, attempts > 0 FROM push
        WHERE route = ?1 AND trust = ?2 AND finished_at IS NULL AND (next_attempt_at, id) > (?3, ?4) AND next_attempt_at <= ?5
        ORDER BY next_attempt_at, id LIMIT ?6
        """

    private static let selectNextDue = """
        SELECT next_attempt_at FROM push
        WHERE route = ? AND trust = ? AND finished_at IS NULL AND next_attempt_at > ? AND next_attempt_at < \(NextAttempt.held)
        ORDER BY next_attempt_at LIMIT 1
        """

    package func rereadQueues(of route: String) { outbox.fairQueue.withLock { $0.reread(route) } }

    /// Stores the devices of pushes that 0.2 has accepted.
    private func name(_ ids: [Int64]) async throws -> [WaitingPush] {
        let (named, damaged) = try await queue.perform { transaction in
            var damaged: [Int64] = []
            let named = try ids.compactMap { id -> WaitingPush? in
                let push =
                    try transaction.database.first(Self.selectQueuedPush, id) { row in
                        try row.readable(id, or: &damaged) { try $0.nextQueuedPush(id, transaction.sealing) }
                    } ?? nil
                guard let push else { return nil }
                let device = try transaction.sealing.device(of: push.targetDigest)
                let trust = try transaction.database.first("UPDATE push SET device = ? WHERE id = ? RETURNING trust", device, id) {
                    try $0.next(PushTrust.self)
                }
                return WaitingPush(id: id, device: device, trust: trust ?? .unproven, isTried: push.attempts > 0)
            }
            return (named, damaged)
        }
        try await setAside(damaged, .push)
        return named
    }

    package func pushes(_ choices: [PushChoice], route: String, at now: Timestamp) async throws -> [FoundPush] {
        let (found, damaged) = try await read { [sealing] database in
            var damaged: [Int64] = []
            let hasSuspects = try database.first("SELECT 1 FROM suspect_token LIMIT 1") { try $0.next(Int.self) } != nil
            let found = try choices.map { choice -> FoundPush in
                let id: Int64? =
                    switch choice {
                    case .row(let id): id
                    case .device(let device): try database.nextPush(of: device, in: route, at: now)
                    }
                if let id {
                    let push =
                        try database.first(Self.selectQueuedPush, id) { row in
                            try row.readable(id, or: &damaged) { try $0.nextQueuedPush(id, sealing) }
                        } ?? nil
                    return try push.map { .push(try database.withHistory($0, sealing, hasSuspects: hasSuspects)) } ?? .nothing
                }
                guard case .device(let device) = choice else { return .nothing }
                return try database.first(Self.selectNextTime, device, route, now, read: { try $0.next(Timestamp?.self) }).flatMap(\.self)
                    .map(FoundPush.later) ?? .nothing
            }
            return (found, damaged)
        }
        try await setAside(damaged, .push)
        return found
    }

    private static let selectQueuedPush = """
        SELECT \(QueuedPush.columns)
        FROM push LEFT JOIN registration AS target ON target.id = push.registration AND target.is_live = 1
        WHERE push.id = ? AND push.finished_at IS NULL AND push.next_attempt_at < \(NextAttempt.held)
        """
    private static let selectNextTime = """
        SELECT min(next_attempt_at) FROM push
        WHERE device = ? AND finished_at IS NULL AND route = ? AND next_attempt_at > ? AND next_attempt_at < \(NextAttempt.held)
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
            try expired.count { try transaction.finish($0, as: .expired, reason: .lifetime, at: now) }
        }
    }

    package func update(_ update: OutboxUpdate, at now: Timestamp) async throws -> [ChangedRegistration] {
        try await queue.perform { try $0.apply(update, at: now) }
    }

    package var refusedPushCounts: [String: Int] { outbox.capacity.withLock { $0.rejectedCounts } }

    package func queuedPushCounts() async throws -> [String: Int] {
        try await read { database in
            let counts = try database.all("SELECT route, count(*) FROM push WHERE finished_at IS NULL GROUP BY route") { row in
                (try row.next(String.self), try row.next(Int.self))
            }
            return Dictionary(counts) { first, _ in first }
        }
    }
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
    /// Stores the assignments and moves all open pushes to the queues of their new routes.
    fileprivate func reassign(to routes: Set<RouteAssignment>) throws {
        try database.run("DELETE FROM route")
        for route in routes {
            try database.run(
                "INSERT INTO route (token_type, apn_topic, name) VALUES (?, ?, ?)", route.tokenType, route.apnTopic, route.route)
        }
        try database.run(
            """
            UPDATE push SET route = \(Self.route(tokenType: "push.token_type", apnTopic: "push.apn_topic")) WHERE finished_at IS NULL
            """)
        // Rounds of different routes are not comparable, so each target gets the rounds from 1 on.
        try database.run(
            """
            UPDATE push SET next_attempt_at = rounds.round FROM (
                SELECT id, row_number() OVER (PARTITION BY route, trust, key_hash, installation_id ORDER BY next_attempt_at, id) AS round
                FROM push WHERE finished_at IS NULL AND next_attempt_at < \(NextAttempt.firstTime)
            ) AS rounds WHERE push.id = rounds.id
            """)
    }

    /// Continues with the lowest stored rounds of a route, because a restart forgets the current ones.
    fileprivate func findRounds(of route: String) throws {
        for trust in PushTrust.allCases {
            let first: NextAttempt? = try database.first(
                """
                SELECT next_attempt_at FROM push
                WHERE route = ? AND trust = ? AND finished_at IS NULL
                    AND next_attempt_at BETWEEN \(NextAttempt.firstRound) AND \(NextAttempt.lastRound)
                ORDER BY next_attempt_at LIMIT 1
                """,
                route, trust
            ) { try $0.next() }
            if let first = first?.round { outbox.reach(first, trust: trust, in: route) }
        }
    }
}

extension Database {
    /// Returns the row of a device's next push that may be attempted now, or nil if none may be.
    ///
    /// Tried pushes of a device are few, because its attempts are rare: an untried one is found behind them.
    fileprivate func nextPush(of device: DeviceCode, in route: String, at now: Timestamp) throws -> Int64? {
        try first(Self.selectUntried, device, route, now) { try $0.next(Int64.self) }
            ?? first(Self.selectTried, device, route, now) { try $0.next(Int64.self) }
    }

    private static let selectUntried = """
        SELECT id FROM push INDEXED BY push_by_device
        WHERE device = ? AND finished_at IS NULL AND route = ? AND next_attempt_at <= ? AND attempts = 0 ORDER BY id LIMIT 1
        """
    private static let selectTried = """
        SELECT id FROM push INDEXED BY push_by_device
        WHERE device = ? AND finished_at IS NULL AND route = ? AND next_attempt_at <= ? AND attempts > 0 ORDER BY attempted_at, id LIMIT 1
        """
}
