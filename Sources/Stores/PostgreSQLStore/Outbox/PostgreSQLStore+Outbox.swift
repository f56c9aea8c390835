import Bytes
package import Envelope
import PushProtocol
import StatusCrypto
package import Store
import Wire

extension PostgreSQLStore {
    package func takeOverOutbox(routes: Set<RouteAssignment>, latest: Timestamp) async throws -> Int {
        try await write { transaction in
            let (database, server) = (transaction.database, transaction.server)
            // This server takes the others later, with those of servers that are fenced meanwhile.
            database.add(
                """
                UPDATE push SET server = $1 WHERE id = ANY(ARRAY(
                    SELECT id FROM push WHERE \(OpenPushes.due) AND server IN (SELECT number FROM server WHERE is_fenced)
                    FOR UPDATE SKIP LOCKED))
                """, server)
            database.add(
                """
                DELETE FROM damaged_row
                WHERE kind = 'registration' OR kind = 'push' AND row IN (SELECT id FROM push WHERE server = $1 AND \(OpenPushes.due))
                """,
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
            return leaseCount
        }
    }

    package func tell(_ listener: @escaping @Sendable (_ route: String, _ arrivals: Arrivals) -> Void) { outbox.tell(listener) }

    package func waitingDevices(route: String, trust: PushTrust, after last: DeviceCode?, limit: Int) async throws -> [DeviceCode] {
        let server = number
        let next = """
            SELECT device FROM push WHERE \(OpenPushes.waiting) AND server = $1 AND route = $2 AND trust = $3 AND device > %
                AND next_attempt_at < \(NextAttempt.held)
            ORDER BY device LIMIT 1
            """
        return try await read { database in
            try database.all(
                """
                WITH RECURSIVE found (device) AS (
                    (\(next.replacing("%", with: "$4")))
                    UNION ALL
                    SELECT (\(next.replacing("%", with: "found.device"))) FROM found WHERE found.device IS NOT NULL
                )
                SELECT device FROM found WHERE device IS NOT NULL LIMIT $5
                """,
                server, route, trust, last?.bytes ?? [], limit
            ) { try $0.next() }
        }
    }

    package func pushes(
        _ choices: [PushChoice], route: String, acceptedSince oldest: Timestamp, at now: Timestamp
    ) async throws -> [FoundPush] {
        let server = number
        let (found, chosen, damaged) = try await read { [sealing] database in
            var damaged: [Int64] = []
            let looked = choices.compactMap { if case .next(let device, let rows) = $0 { (device: device, rows: rows) } else { nil } }
            let results = try database.fetch(
                .each(
                    looked.map { device, rows in
                        .first(Self.selectNext, server, device, route, now, SQLArray(rows), oldest) { row in
                            let (untried, tried): (Int64?, Int64?) = (try row.next(), try row.next())
                            let (time, earliest): (Timestamp?, NextAttempt?) = (try row.next(), try row.next())
                            return LookedUp(untried: untried, tried: tried, time: time, earliest: earliest)
                        }
                    }))
            var found = Dictionary(zip(looked.map(\.device), results.map { $0 ?? LookedUp() })) { first, _ in first }
            let chosen = choices.map { choice -> Int64? in
                switch choice {
                case .row(let id): id
                case .next(let device, _): found[device]?.row
                }
            }
            let pushes = try database.all(Self.selectQueuedPushes, SQLArray(chosen.compactMap(\.self)), server) { row in
                let id: Int64 = try row.next()
                return try row.readable(id, or: &damaged) { try $0.nextQueuedPush(id, sealing) }
            }
            let addressed = try pushes.compactMap(\.self).compactMap { try database.addressed($0, or: &damaged, sealing) }
            let readable = try database.withHistory(addressed, sealing)
            let byRow = Dictionary(readable.map { ($0.id, $0) }) { first, _ in first }
            return (
                zip(choices, chosen).map { choice, id -> FoundPush in
                    let looked =
                        if case .next(let device, _) = choice { found.removeValue(forKey: device) ?? LookedUp() } else { LookedUp() }
                    if let id { return byRow[id].map { .push($0, others: looked.others) } ?? (choice.isOfDevice ? .moved : .nothing) }
                    return looked.time.map(FoundPush.later) ?? .nothing
                }, chosen, damaged
            )
        }
        let locked = Set(damaged).subtracting(try await setAside(damaged, .push))
        return try await moving(zip(found, chosen).map { $1.map(locked.contains) == true ? .locked : $0 }, in: route)
    }

    /// What was found of a device.
    private struct LookedUp {
        var untried: Int64?
        var tried: Int64?
        /// When the next push is due, if none is now.
        var time: Timestamp?
        /// The earliest time of those beside the tried one.
        var earliest: NextAttempt?

        var row: Int64? { untried ?? tried }
        var others: Timestamp? { untried == nil && tried != nil ? earliest.map { Timestamp(nanoseconds: $0.rawValue) } : nil }
    }

    /// Selects a device's next untried push; without one, its next tried push, and when others are due. An untried one is found without
    /// reading the others, of which a device may have any number.
    private static let selectNext = """
        WITH untried AS (
            SELECT min(first.id) AS id
            FROM (
                VALUES (\(PushTrust.proven.rawValue)), (\(PushTrust.unproven.rawValue)), (\(PushTrust.unknownBundleID.rawValue))
            ) AS each (trust), LATERAL (
                SELECT id FROM push
                WHERE \(OpenPushes.waiting) AND server = $1 AND route = $3 AND push.trust = each.trust AND device = $2
                    AND next_attempt_at <= $4 AND attempts = 0 AND accepted_at >= $6 AND id <> ALL($5)
                ORDER BY server, route, push.trust, device, id LIMIT 1
            ) AS first
        ), waiting AS (
            SELECT id, next_attempt_at, attempts, attempted_at FROM push
            WHERE (SELECT id FROM untried) IS NULL AND device = $2 AND \(OpenPushes.ofDevice) AND server = $1 AND route = $3
                AND trust <> \(PushTrust.call.rawValue) AND next_attempt_at < \(NextAttempt.held) AND accepted_at >= $6 AND id <> ALL($5)
        ), tried AS (
            SELECT id FROM waiting WHERE next_attempt_at <= $4 AND attempts > 0 ORDER BY attempted_at, id LIMIT 1
        )
        SELECT (SELECT id FROM untried), (SELECT id FROM tried),
            (SELECT min(next_attempt_at) FROM waiting WHERE next_attempt_at > $4),
            (SELECT min(next_attempt_at) FROM waiting WHERE id <> (SELECT id FROM tried))
        """

    private static let selectQueuedPushes = """
        SELECT push.id, \(QueuedPush.columns)
        FROM unnest($1::int8[]) WITH ORDINALITY AS chosen (id, number)
        JOIN push ON push.id = chosen.id AND \(OpenPushes.byRow) AND push.next_attempt_at < \(NextAttempt.held) AND push.server = $2
        LEFT JOIN registration AS target ON target.id = push.registration AND target.is_live
        ORDER BY chosen.number
        """

    package func expirePushes(route: String, acceptedBefore oldest: Timestamp, limit: Int, at now: Timestamp) async throws -> Int {
        try await write { transaction in
            var (count, last, isLast) = (0, Int64(0), false)
            // The rows are in the order of acceptance, so the search stops at a page with a newer one, as that of SQLite does.
            while !isLast, count < limit {
                let page = try transaction.database.all(
                    """
                    SELECT id, accepted_at, server = $2 AND route = $3 FROM push
                    WHERE \(OpenPushes.inOrder) AND id > $1 ORDER BY id LIMIT $4
                    """, last, transaction.server, route, limit
                ) { (id: try $0.next(Int64.self), acceptedAt: try $0.next(Timestamp.self), isInQueue: try $0.next(Bool.self)) }
                let old = page.filter { $0.isInQueue && $0.acceptedAt < oldest }.map(\.id)
                count += try transaction.database.run(
                    """
                    UPDATE push SET state = $1, finished_at = $2, reason = $3, secrets = NULL
                    WHERE id IN (
                        SELECT id FROM push
                        WHERE id = ANY($4) AND \(OpenPushes.byRow) AND next_attempt_at < \(NextAttempt.held) AND server = $5
                        FOR UPDATE SKIP LOCKED)
                    """,
                    PushOutcome.expired, now, PushReason.lifetime.rawValue, SQLArray(old), transaction.server)
                isLast = page.count < limit || page.contains { $0.acceptedAt >= oldest && $0.acceptedAt <= now }
                last = page.last?.id ?? last
            }
            transaction.count(.expired, by: count)
            return count
        }
    }

    package func update(_ update: OutboxUpdate, at now: Timestamp) async throws -> UpdatedOutbox {
        guard !update.skipsLockedRows else { return try await updateUnlocked(update, at: now) }
        do {
            var updated = UpdatedOutbox()
            updated.unregistered = try await write { try $0.apply(update, at: now) }
            return updated
        } catch StoreError.rowLocked {
            return try await updateUnlocked(update, at: now)
        }
    }

    package func queuedPushCounts() async throws -> [String: Int] {
        try await read { database in
            let counts = try database.all("SELECT route, count(*) FROM push WHERE \(OpenPushes.due) GROUP BY route") { row in
                (try row.next(String.self), try row.next(Int.self))
            }
            return Dictionary(counts) { first, _ in first }
        }
    }

    package func hold(_ holds: [RouteHold]) async throws { try await write { try $0.database.hold(holds) } }

    package func resume(_ routes: Set<String>) async throws -> [RouteHold] { try await write { try $0.database.resume(routes) } }
}

extension WriteTransaction {
    /// Stores the assignments, if they have changed, and moves this server's open pushes to the queues of their routes.
    fileprivate func assign(_ routes: Set<RouteAssignment>) throws {
        if try database.assignedRoutes() != routes {
            // A push whose transaction has read the routes before would never be moved. What was committed until now is.
            try database.run("SELECT pg_advisory_xact_lock(\(Self.routesLock))")
            database.add("DELETE FROM route")
            database.add(
                "INSERT INTO route (token_type, apn_topic, name) SELECT * FROM unnest($1::int8[], $2::bytea[], $3::bytea[])",
                SQLArray(routes.map(\.tokenType)), SQLArray(routes.map(\.apnTopic)), SQLArray(routes.map(\.route)))
        }
        try database.run(
            """
            UPDATE push SET route = \(RouteTable.assigned)
            WHERE server = $1 AND \(OpenPushes.due) AND route <> \(RouteTable.assigned)
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
