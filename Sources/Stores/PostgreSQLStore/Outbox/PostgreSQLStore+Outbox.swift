import Bytes
package import Envelope
import PushProtocol
import StatusCrypto
package import Store
import Synchronization
import Wire

extension PostgreSQLStore {
    package func takeOverOutbox(routes: Set<RouteAssignment>, latest: Timestamp) async throws -> Int {
        try await write { [outbox] transaction in
            let (database, server) = (transaction.database, transaction.server)
            // This server takes the others later, with those of servers that are fenced meanwhile.
            database.add(
                """
                UPDATE push SET server = $1 WHERE id = ANY(ARRAY(
                    SELECT id FROM push WHERE \(OpenPushes.due) AND server IN (SELECT number FROM server WHERE is_fenced)
                    FOR UPDATE SKIP LOCKED))
                """, server)
            database.add(
                "DELETE FROM damaged_row WHERE kind = 'push' AND row IN (SELECT id FROM push WHERE server = $1 AND \(OpenPushes.due))",
                server)
            let leaseCount = try database.run(
                """
                UPDATE push SET state = \(OpenPushState.unknown.rawValue), next_attempt_at = \(NextAttempt.now)
                WHERE server = $1 AND \(OpenPushes.due) AND state = \(OpenPushState.leased.rawValue)
                """,
                server)
            transaction.count(.uncertain, by: leaseCount)
            database.add(
                "UPDATE push SET next_attempt_at = \(NextAttempt.now) WHERE server = $1 AND \(OpenPushes.due) AND next_attempt_at > $2",
                server, latest)
            try transaction.assign(routes)
            let rounds = try database.all(
                """
                SELECT route, trust, min(next_attempt_at) FROM push
                WHERE server = $1 AND \(OpenPushes.due) AND next_attempt_at BETWEEN \(NextAttempt.firstRound) AND \(NextAttempt.lastRound)
                GROUP BY route, trust
                """,
                server
            ) { (route: try $0.next(String.self), trust: try $0.next(PushTrust.self), next: try $0.next(NextAttempt.self)) }
            // A restart forgets the current rounds, so the server continues with the lowest stored ones.
            outbox.fairQueue.withLock { queue in
                queue.rereadAll()
                for row in rounds {
                    if let round = row.next.round { queue.reach(round, trust: row.trust, in: row.route) }
                }
            }
            return leaseCount
        }
    }

    package func waitingPushes(route: String, at now: Timestamp, limits: [PushTrust: Int]) async throws -> WaitingPushes {
        let server = number
        let limits = limits.map { (trust: $0.key, limit: $0.value) }
        let (read, nameless) = try await read { [outbox] database in
            var read = WaitingPushes()
            var nameless: [Int64] = []
            var progress = outbox.fairQueue.withLock { queue in limits.map { queue.beginReading(trust: $0.trust, in: route) } }
            let parts = limits.indices.flatMap { index in OutboxFairQueue.Part.allCases.map { (index: index, part: $0) } }
            let queries = parts.map { index, part in
                let (queue, place) = (limits[index], progress[index][part])
                return Query.all(
                    Self.selectWaiting, server, route, queue.trust, place.next, place.id, part.end(at: now), queue.limit
                ) { row in
                    (
                        place: OutboxFairQueue.Position(next: try row.next(), id: try row.next()), device: try row.next(DeviceCode?.self),
                        isTried: try row.next(Bool.self)
                    )
                }
            }
            let (results, next) = try database.fetch(
                .each(queries),
                .first(Self.selectNextTime, server, route, SQLArray(PushTrust.allCases), now) { try $0.next(Timestamp?.self) })
            read.next = next ?? nil
            for ((index, part), found) in zip(parts, results) {
                let (trust, limit) = limits[index]
                for row in found {
                    progress[index][part] = row.place
                    if let device = row.device {
                        read.pushes.append(WaitingPush(id: row.place.id, device: device, trust: trust, isTried: row.isTried))
                    } else {
                        nameless.append(row.place.id)
                    }
                }
                if found.count == limit { read.unfinishedQueues.insert(trust) }
            }
            outbox.fairQueue.withLock { [progress] queue in
                for (queued, progress) in zip(limits, progress) { queue.endReading(at: progress, trust: queued.trust, in: route) }
            }
            return (read, nameless)
        }
        guard !nameless.isEmpty else { return read }
        var named = read
        named.pushes += try await name(nameless)
        return named
    }

    private static let selectWaiting = """
        SELECT next_attempt_at, id, device, attempts > 0 FROM push
        WHERE server = $1 AND route = $2 AND trust = $3 AND \(OpenPushes.due) AND (next_attempt_at, id) > ($4, $5)
            AND next_attempt_at <= $6
        ORDER BY next_attempt_at, id LIMIT $7
        """

    private static let selectNextTime = """
        SELECT min(first.next_attempt_at) FROM unnest($3::int8[]) AS level (trust), LATERAL (
            SELECT next_attempt_at FROM push
            WHERE server = $1 AND route = $2 AND trust = level.trust AND \(OpenPushes.due) AND next_attempt_at > $4
                AND next_attempt_at < \(NextAttempt.held)
            ORDER BY next_attempt_at LIMIT 1
        ) AS first
        """

    package func rereadQueues(of route: String) { outbox.fairQueue.withLock { $0.reread(route) } }

    /// Stores the devices of pushes that 0.2 has accepted.
    private func name(_ ids: [Int64]) async throws -> [WaitingPush] {
        let (named, damaged) = try await write { transaction in
            var damaged: [Int64] = []
            let pushes = try transaction.database.all(Self.selectQueuedPushes, SQLArray(ids)) { row in
                let id: Int64 = try row.next()
                return try row.readable(id, or: &damaged) { try $0.nextQueuedPush(id, transaction.sealing) }
            }.compactMap(\.self)
            let devices = try pushes.map { try transaction.sealing.device(of: $0.targetDigest) }
            let trusts = Dictionary(
                try transaction.database.all(
                    """
                    UPDATE push SET device = named.device FROM unnest($1::int8[], $2::bytea[]) AS named (id, device)
                    WHERE push.id = named.id RETURNING push.id, push.trust
                    """,
                    SQLArray(pushes.map(\.id)), SQLArray(devices)
                ) { (try $0.next(Int64.self), try $0.next(PushTrust.self)) }
            ) { first, _ in first }
            let named = zip(pushes, devices).map { push, device in
                WaitingPush(id: push.id, device: device, trust: trusts[push.id] ?? .unproven, isTried: push.attempts > 0)
            }
            return (named, damaged)
        }
        try await setAside(damaged, .push)
        return named
    }

    package func pushes(_ choices: [PushChoice], route: String, at now: Timestamp) async throws -> [FoundPush] {
        let server = number
        let locked = pushesToAvoid()
        let (found, damaged) = try await read { [sealing] database in
            var damaged: [Int64] = []
            let devices = choices.compactMap { if case .device(let device) = $0 { device } else { nil } }
            var next: [DeviceCode: Int64] = [:]
            var later: [DeviceCode: Timestamp] = [:]
            let results = try database.fetch(
                .each(
                    devices.map { device in
                        .first(Self.selectNext, server, device, route, now, SQLArray(locked)) {
                            (try $0.next(Int64?.self), try $0.next(Timestamp?.self))
                        }
                    }))
            for (device, row) in zip(devices, results) { if let row { (next[device], later[device]) = row } }
            let chosen = choices.map { choice -> Int64? in
                switch choice {
                case .row(let id): locked.contains(id) ? nil : id
                case .device(let device): next[device]
                }
            }
            let pushes = try database.all(Self.selectQueuedPushes, SQLArray(chosen.compactMap(\.self))) { row in
                let id: Int64 = try row.next()
                return try row.readable(id, or: &damaged) { try $0.nextQueuedPush(id, sealing) }
            }
            let readable = try database.withHistory(pushes.compactMap(\.self), sealing)
            let byRow = Dictionary(readable.map { ($0.id, $0) }) { first, _ in first }
            let soon = now.advanced(by: Self.lockedPushInterval)
            let found = zip(choices, chosen).map { choice, id -> FoundPush in
                if let id { return byRow[id].map(FoundPush.push) ?? .nothing }
                switch choice {
                case .row: return .later(soon)
                case .device(let device): return later[device].map(FoundPush.later) ?? (locked.isEmpty ? .nothing : .later(soon))
                }
            }
            return (found, damaged)
        }
        try await setAside(damaged, .push)
        return found
    }

    /// Between two looks at a device whose pushes another session of the database holds.
    private static let lockedPushInterval = Duration.seconds(1)

    /// Selects a device's next push, or else when one is due.
    private static let selectNext = """
        SELECT coalesce((
            SELECT id FROM push
            WHERE device = $2 AND \(OpenPushes.ofDevice) AND server = $1 AND route = $3 AND next_attempt_at <= $4 AND attempts = 0
                AND id <> ALL($5)
            ORDER BY id LIMIT 1
        ), (
            SELECT id FROM push
            WHERE device = $2 AND \(OpenPushes.ofDevice) AND server = $1 AND route = $3 AND next_attempt_at <= $4 AND attempts > 0
                AND id <> ALL($5)
            ORDER BY attempted_at, id LIMIT 1
        )), (
            SELECT min(next_attempt_at) FROM push
            WHERE device = $2 AND \(OpenPushes.ofDevice) AND server = $1 AND route = $3 AND next_attempt_at > $4
                AND next_attempt_at < \(NextAttempt.held)
        )
        """

    private static let selectQueuedPushes = """
        SELECT push.id, \(QueuedPush.columns)
        FROM unnest($1::int8[]) WITH ORDINALITY AS chosen (id, number)
        JOIN push ON push.id = chosen.id AND \(OpenPushes.byRow) AND push.next_attempt_at < \(NextAttempt.held)
        LEFT JOIN registration AS target ON target.id = push.registration AND target.is_live
        ORDER BY chosen.number
        """

    package func expirePushes(route: String, acceptedBefore oldest: Timestamp, limit: Int, at now: Timestamp) async throws -> Int {
        try await write { transaction in
            let count = try transaction.database.run(
                """
                UPDATE push SET
                    state = $1, finished_at = $2, reason = $7, secrets = NULL
                WHERE id IN (
                    SELECT id FROM push
                    WHERE \(OpenPushes.due) AND route = $3 AND accepted_at < $4 AND next_attempt_at < \(NextAttempt.held)
                        AND server = $6
                    ORDER BY id LIMIT $5 FOR UPDATE SKIP LOCKED)
                """,
                PushOutcome.expired, now, route, oldest, limit, transaction.server, PushReason.lifetime.rawValue)
            transaction.count(.expired, by: count)
            return count
        }
    }

    package func update(_ update: OutboxUpdate, at now: Timestamp) async throws -> [ChangedRegistration] {
        do {
            return try await write { try $0.apply(update, at: now) }
        } catch StoreError.rowLocked {
            return try await applyUnlessLocked(update, at: now)
        }
    }

    package var refusedPushCounts: [String: Int] { outbox.capacity.withLock { $0.rejectedCounts } }

    package func queuedPushCounts() async throws -> [String: Int] {
        try await read { database in
            let counts = try database.all("SELECT route, count(*) FROM push WHERE \(OpenPushes.due) GROUP BY route") { row in
                (try row.next(String.self), try row.next(Int.self))
            }
            return Dictionary(counts) { first, _ in first }
        }
    }
}

extension WriteTransaction {
    /// Stores the assignments, if they have changed, and moves this server's open pushes to the queues of their routes.
    fileprivate func assign(_ routes: Set<RouteAssignment>) throws {
        if try database.assignedRoutes() != routes {
            database.add("DELETE FROM route")
            database.add(
                "INSERT INTO route (token_type, apn_topic, name) SELECT * FROM unnest($1::int8[], $2::bytea[], $3::bytea[])",
                SQLArray(routes.map(\.tokenType)), SQLArray(routes.map(\.apnTopic)), SQLArray(routes.map(\.route)))
        }
        let movedCount = try database.run(
            """
            UPDATE push SET route = \(Self.assignedRoute)
            WHERE server = $1 AND \(OpenPushes.due) AND route <> \(Self.assignedRoute)
            """,
            server)
        guard movedCount > 0 else { return }
        // Rounds of different routes are not comparable, so each target gets the rounds from 1 on.
        database.add(
            """
            UPDATE push SET next_attempt_at = rounds.round FROM (
                SELECT id, row_number() OVER (PARTITION BY route, trust, key_hash, installation_id ORDER BY next_attempt_at, id) AS round
                FROM push WHERE server = $1 AND \(OpenPushes.due) AND next_attempt_at < \(NextAttempt.firstTime)
            ) AS rounds WHERE push.id = rounds.id
            """,
            server)
    }
}

extension Transaction {
    /// Adds the suspicions against the device tokens of pushes and, for pushes without registration, the last delivery to their token.
    fileprivate func withHistory(_ pushes: [QueuedPush], _ sealing: RowSealing) throws -> [QueuedPush] {
        let codes = Set(try pushes.map { try sealing.code(of: $0.targetDigest) })
        let unregistered = Set(try pushes.filter { $0.registration == nil }.map { try sealing.code(of: $0.targetDigest) })
        let (suspected, delivered) = try fetch(
            Suspicion.query(codes),
            .all(
                "SELECT token_digest, delivered_at, first_delivered_at FROM proven_token WHERE token_digest = ANY($1)",
                SQLArray(unregistered)
            ) { (try $0.next(Digest32.self), try $0.nextDeliveries()) })
        let suspicions = Dictionary(suspected.map { ($0.code, $0.suspicion) }) { first, _ in first }
        let deliveries = Dictionary(delivered) { first, _ in first }
        guard !suspicions.isEmpty || !deliveries.isEmpty else { return pushes }
        return try pushes.map { push in
            var push = push
            let code = try sealing.code(of: push.targetDigest)
            push.suspicion = suspicions[code]
            if push.registration == nil { push.tokenDeliveries = deliveries[code] ?? nil }
            return push
        }
    }
}
