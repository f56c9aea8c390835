import Bytes
package import Envelope
package import PushProtocol
import StatusCrypto
package import Store
import StoreSQL
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
                UPDATE push SET state = \(OpenPushState.unknown.rawValue), next_attempt_at = 0
                WHERE server = $1 AND \(OpenPushes.due) AND state = \(OpenPushState.leased.rawValue)
                """,
                server)
            transaction.count(.uncertain, by: leaseCount)
            database.add(
                "UPDATE push SET next_attempt_at = 0 WHERE server = $1 AND \(OpenPushes.due) AND next_attempt_at > $2", server, latest)
            try transaction.assign(routes)
            let rounds = try database.all(
                """
                SELECT route, trust, min(next_attempt_at) FROM push
                WHERE server = $1 AND \(OpenPushes.due) AND next_attempt_at BETWEEN 1 AND \(OutboxFairQueue.roundLimit)
                GROUP BY route, trust
                """,
                server
            ) { (route: try $0.next(String.self), trust: try $0.next(PushTrust.self), round: try $0.next(Int64.self)) }
            // A restart forgets the current rounds, so the server continues with the lowest stored ones.
            for row in rounds { outbox.fairQueue.withLock { $0.reach(row.round, trust: row.trust, in: row.route) } }
            return leaseCount
        }
    }

    package func duePushes(route: String, at now: Timestamp, limit: Int) async throws -> [QueuedPush] {
        let server = number
        let locked = pushesToAvoid()
        let (pushes, damaged) = try await read { [outbox, sealing] database in
            var damaged: [Int64] = []
            let results = try database.fetch(
                PushTrust.allCases.flatMap { DuePushes.commands(of: server, route, $0, except: locked, at: now, limit: limit) })
            var due: [PushTrust: DuePushes] = [:]
            for (index, trust) in PushTrust.allCases.enumerated() {
                due[trust] = DuePushes(
                    first: try results[2 * index].map { (next: try $0.next(), id: try $0.next()) },
                    retries: try results[2 * index + 1].map { try $0.next() })
            }
            let chosen = outbox.fairQueue.withLock { $0.choose(limit, among: due, in: route) }
            guard !chosen.isEmpty else { return ([QueuedPush](), damaged) }
            let pushes = try database.all(Self.selectQueuedPushes, SQLArray(chosen)) { row in
                let id: Int64 = try row.next()
                return try row.readable(id, or: &damaged) { try $0.nextQueuedPush(id, sealing) }
            }
            return (try database.withHistory(pushes.compactMap(\.self), sealing), damaged)
        }
        try await setAside(damaged, .push)
        return pushes
    }

    private static let selectQueuedPushes = """
        SELECT push.id, push.message, push.key_hash, push.installation_id, push.deduplication_key, push.token_type,
            push.apn_topic, push.type, push.accepted_at, push.state, push.attempts, push.refused_at, push.counted_refusals, push.shortening,
            push.registration, push.secrets, target.version, target.secrets, target.delivered_at, target.first_delivered_at
        FROM unnest($1::int8[]) WITH ORDINALITY AS chosen (id, number) JOIN push ON push.id = chosen.id AND \(OpenPushes.byRow)
        LEFT JOIN registration AS target ON target.id = push.registration AND target.is_live AND target.token_type = push.token_type
            AND (target.apn_topic = push.apn_topic OR push.token_type <> \(TokenType.apn.rawValue))
        ORDER BY chosen.number
        """

    package func nextAttempt(route: String) async throws -> Timestamp? {
        let server = number
        let locked = pushesToAvoid()
        return try await read { database in
            let next = try database.first(
                """
                SELECT min(first.next_attempt_at) FROM unnest($3::int8[]) AS level (trust), LATERAL (
                    SELECT next_attempt_at FROM push
                    WHERE server = $1 AND route = $2 AND trust = level.trust AND \(OpenPushes.due) AND next_attempt_at < \(Int64.max)
                        AND id <> ALL($4)
                    ORDER BY next_attempt_at LIMIT 1
                ) AS first
                """, server, route, SQLArray(PushTrust.allCases), SQLArray(locked)
            ) { try $0.next(Timestamp?.self) }
            return next ?? nil
        }
    }

    package func retryNow(route: String, reasons: Set<PushReason>, after row: Int64, at now: Timestamp) async throws -> Int64? {
        try await write { transaction in
            let examined = try transaction.database.all(
                "SELECT id FROM push WHERE \(OpenPushes.inOrder) AND id > $1 ORDER BY id LIMIT $2", row, OutboxLimits.retryNowCount
            ) { try $0.next(Int64.self) }
            let waiting = try transaction.database.all(
                """
                SELECT id, key_hash, installation_id, trust FROM push
                WHERE id = ANY($1) AND route = $2 AND reason = ANY($3) AND next_attempt_at > $4 AND \(OpenPushes.byRow)
                    AND state <> \(OpenPushState.leased.rawValue) AND server = $5
                ORDER BY id FOR UPDATE SKIP LOCKED
                """,
                SQLArray(examined), route, SQLArray(reasons.map(\.rawValue)), now, transaction.server
            ) { WaitingPush(id: try $0.next(), target: try $0.nextInstallation(), trust: try $0.next()) }
            transaction.release(waiting, in: route)
            return examined.count < OutboxLimits.retryNowCount ? nil : examined.last
        }
    }

    package func expirePushes(route: String, acceptedBefore oldest: Timestamp, limit: Int, at now: Timestamp) async throws -> Int {
        try await write { transaction in
            let count = try transaction.database.run(
                """
                UPDATE push SET
                    state = $1, finished_at = $2, reason = $7, secrets = NULL
                WHERE id IN (
                    SELECT id FROM push
                    WHERE \(OpenPushes.due) AND route = $3 AND accepted_at < $4 AND next_attempt_at < \(Int64.max)
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

    package func deliveredBundleIDs() async throws -> [String: Set<String>] {
        try await read { database in
            let topics = try database.all("SELECT route, apn_topic FROM delivered_topic") { row in
                (try row.next(String.self), Set([try row.next(String.self)]))
            }
            return Dictionary(topics) { $0.union($1) }
        }
    }

    package func recentDevices(route: String, since time: Timestamp, limit: Int) async throws -> [Installation: Timestamp] {
        try await read { database in
            let devices = try database.all(
                """
                SELECT key_hash, installation_id, max(finished_at) FROM (
                    SELECT key_hash, installation_id, route, state, finished_at FROM push
                    WHERE finished_at IS NOT NULL AND finished_at >= $1 ORDER BY finished_at DESC LIMIT $2
                ) AS finished WHERE route = $3 AND state = $4 GROUP BY key_hash, installation_id LIMIT $5
                """,
                time, OutboxLimits.recentPushCount, route, PushOutcome.sent, limit
            ) { (try $0.nextInstallation(), try $0.next(Timestamp.self)) }
            return Dictionary(devices) { first, _ in first }
        }
    }

    package var refusedPushCounts: [String: Int] { outbox.capacity.withLock { $0.rejectedCounts } }

    package func queuedPushCount() async throws -> Int {
        try await read { try $0.count("SELECT count(*) FROM push WHERE \(OpenPushes.due)") }
    }

    package func queuedPushCounts() async throws -> [String: Int] {
        try await read { database in
            let counts = try database.all("SELECT route, count(*) FROM push WHERE \(OpenPushes.due) GROUP BY route") { row in
                (try row.next(String.self), try row.next(Int.self))
            }
            return Dictionary(counts) { first, _ in first }
        }
    }

    package func oldestQueuedPush() async throws -> Timestamp? {
        try await read { database in
            try database.first("SELECT accepted_at FROM push WHERE \(OpenPushes.inOrder) ORDER BY id LIMIT 1") { try $0.next() }
        }
    }
}

extension WriteTransaction {
    /// Stores the assignments, if they have changed, and moves this server's open pushes to the queues of their routes.
    fileprivate func assign(_ routes: Set<RouteAssignment>) throws {
        let earlier = try database.all("SELECT token_type, apn_topic, name FROM route") { row in
            RouteAssignment(tokenType: try row.next(), apnTopic: try row.next(), route: try row.next())
        }
        if Set(earlier) != routes {
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
                FROM push WHERE server = $1 AND \(OpenPushes.due) AND next_attempt_at < \(OutboxFairQueue.roundLimit)
            ) AS rounds WHERE push.id = rounds.id
            """,
            server)
    }
}

/// A push that waits for a retry.
struct WaitingPush {
    var id: Int64
    var target: Installation
    var trust: PushTrust
}

extension WriteTransaction {
    /// Makes waiting pushes of a route due, in rounds as if they had just been accepted.
    func release(_ pushes: [WaitingPush], in route: String) {
        guard !pushes.isEmpty else { return }
        database.add(
            """
            UPDATE push SET next_attempt_at = change.round FROM unnest($1::int8[], $2::int8[]) AS change (id, round)
            WHERE push.id = change.id AND \(OpenPushes.byRow) AND state <> \(OpenPushState.leased.rawValue) AND server = $3
            """,
            SQLArray(pushes.map(\.id)), SQLArray(pushes.map { outbox.round(for: $0.target, trust: $0.trust, in: route) }), server)
    }

    /// Makes the pushes of a device due that wait after an attempt, or for that of another push.
    func release(_ release: OutboxUpdate.Release) throws {
        let reasons = PushReason.allCases.filter(\.waitsForDevice)
        let waiting = try database.all(
            """
            SELECT id, key_hash, installation_id, trust FROM push
            WHERE key_hash = $1 AND installation_id = $2 AND \(OpenPushes.ofTarget) AND route = $3 AND next_attempt_at > $4
                AND reason = ANY($5) AND state <> \(OpenPushState.leased.rawValue) AND server = $6
            ORDER BY id FOR UPDATE SKIP LOCKED
            """,
            release.target.keyHash, release.target.installationID, release.route, release.now, SQLArray(reasons.map(\.rawValue)), server
        ) { WaitingPush(id: try $0.next(), target: try $0.nextInstallation(), trust: try $0.next()) }
        self.release(waiting, in: release.route)
    }
}

extension DuePushes {
    /// The queries of the pushes without attempts and of the others.
    ///
    /// - Parameter locked: The pushes to leave out.
    fileprivate static func commands(
        of server: Int64, _ route: String, _ trust: PushTrust, except locked: [Int64], at now: Timestamp, limit: Int
    ) -> [Command] {
        [
            Command(
                """
                SELECT next_attempt_at, id FROM push
                WHERE server = $1 AND route = $2 AND trust = $3 AND \(OpenPushes.due) AND next_attempt_at < \(OutboxFairQueue.roundLimit)
                    AND id <> ALL($5)
                ORDER BY next_attempt_at, id LIMIT $4
                """,
                server, route, trust, limit, SQLArray(locked)),
            Command(
                """
                SELECT id FROM push
                WHERE server = $1 AND route = $2 AND trust = $3 AND \(OpenPushes.due)
                    AND next_attempt_at BETWEEN \(OutboxFairQueue.roundLimit) AND $4 AND id <> ALL($6)
                ORDER BY next_attempt_at, id LIMIT $5
                """,
                server, route, trust, now, limit, SQLArray(locked)),
        ]
    }
}

extension Transaction {
    /// Adds the suspicions against the device tokens of pushes and, for pushes without registration, the last delivery to their token.
    fileprivate func withHistory(_ pushes: [QueuedPush], _ sealing: RowSealing) throws -> [QueuedPush] {
        let digests = SQLArray(Set(try pushes.map { try sealing.code(of: $0.targetDigest) }))
        let unregistered = SQLArray(Set(try pushes.filter { $0.registration == nil }.map { try sealing.code(of: $0.targetDigest) }))
        let results = try fetch([
            Suspicion.command(digests),
            Command("SELECT token_digest, delivered_at, first_delivered_at FROM proven_token WHERE token_digest = ANY($1)", unregistered),
        ])
        let suspicions = Dictionary(try results[0].map { try $0.nextSuspicion() }) { first, _ in first }
        let deliveries = Dictionary(try results[1].map { (try $0.next(Digest32.self), try $0.nextDeliveries()) }) { first, _ in first }
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

extension RowCursor {
    /// Reads the columns after the id.
    fileprivate mutating func nextQueuedPush(_ id: Int64, _ sealing: RowSealing) throws -> QueuedPush {
        let request: Int64 = try next()
        let (target, key): (Installation, Digest32) = (try nextInstallation(), try next())
        let (tokenType, apnTopic): (TokenType, String) = (try next(), try next())
        let type: PushNotificationType = try next()
        let (acceptedAt, state, attempts): (Timestamp, OpenPushState, Int) = (try next(), try next(), try next())
        let refusals = PushRefusals(refusedAt: try next(), countedCount: try next(), shortening: try next())
        let row: Int64? = try next()
        let secrets = try sealing.pushSecrets(next(), in: .push(to: target, deduplicationKey: key))
        let registered = try nextTarget(of: target, sealing)
        var queued = QueuedPush(
            id: id, request: request,
            push: AcceptedPush(
                target: target, deduplicationKey: key, tokenType: tokenType, deviceToken: registered?.token ?? secrets.deviceToken,
                apnTopic: apnTopic, type: type, chatID: secrets.chatID, message: secrets.message),
            acceptedAt: acceptedAt, state: state, attempts: attempts, notification: try secrets.gatewayNotification(), refusals: refusals)
        if let row, let registered {
            queued.registration = TargetRegistration(row: row, version: registered.version, deliveries: registered.deliveries)
        }
        queued.isOrphan = row != nil && registered == nil
        return queued
    }

    /// Reads the live registration of a push from the next three columns; nil if none exists.
    private mutating func nextTarget(
        of installation: Installation, _ sealing: RowSealing
    ) throws -> (token: DeviceToken, version: UInt64, deliveries: Deliveries?)? {
        let (version, secrets): (UInt64?, [UInt8]?) = (try next(), try next())
        let deliveries = try nextDeliveries()
        guard let version else { return nil }
        return (try sealing.registrationTokens(secrets, of: installation, version: version).device, version, deliveries)
    }

    /// Reads the deliveries to a target from the next two columns, the last one first.
    mutating func nextDeliveries() throws -> Deliveries? {
        let (last, first): (Timestamp?, Timestamp?) = (try next(), try next())
        return last.map { Deliveries(first: first ?? $0, last: $0) }
    }
}
