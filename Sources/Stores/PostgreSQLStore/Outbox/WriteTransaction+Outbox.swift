import Bytes
package import Envelope
import PushProtocol
import StatusCrypto
package import Store
package import Wire

extension WriteTransaction {
    /// Adds pushes to the outbox.
    ///
    /// - Parameter loaded: The registrations that were loaded. The batch may have added others.
    func enqueue(_ accepted: [DecidedBatch.Push], loaded: [Installation: PushTargetRow], at now: Timestamp) throws {
        guard !accepted.isEmpty else { return }
        let routes = try routes()
        let proven = try provenTargets(of: accepted.map(\.push.target), loaded)
        var rows = PushRows()
        for accepted in accepted {
            let push = accepted.push
            let route = routes.route(of: push.tokenType, apnTopic: push.apnTopic)
            let trust = PushTrust(
                hasWorked: proven.contains(push.target), push.tokenType, apnTopic: push.apnTopic, namedBundleIDs: outbox.namedBundleIDs
            ) { routes.isKnown(push.apnTopic, in: route) }
            let new = try NewPush(accepted, route: route, trust: trust, outbox) { try reserveSlot(in: route, trust: trust, at: now) }
            rows.append(accepted, new)
            for milestone in new.milestones { count(milestone) }
        }
        database.add(try rows.insertion(of: server, at: now, sealing))
    }

    /// Returns the targets to which a push was delivered before. Reads those that were not loaded.
    private func provenTargets(of targets: [Installation], _ loaded: [Installation: PushTargetRow]) throws -> Set<Installation> {
        var proven = Set(loaded.filter(\.value.hasWorked).keys)
        let unloaded = Set(targets).subtracting(loaded.keys)
        guard !unloaded.isEmpty else { return proven }
        let columns = InstallationColumns(Array(unloaded))
        proven.formUnion(
            try database.all(
                """
                SELECT key_hash, installation_id FROM unnest($1::bytea[], $2::bytea[]) AS wanted (key_hash, installation_id)
                JOIN registration USING (key_hash, installation_id) WHERE is_live AND delivered_at IS NOT NULL
                """,
                columns.keyHashes, columns.installationIDs
            ) { try $0.nextInstallation() })
        return proven
    }

    /// Returns the routes. A transaction reads them once.
    private func routes() throws -> RouteTable {
        if let table = loadedRoutes.table { return table }
        let table = try RouteTable(database)
        loadedRoutes.table = table
        return table
    }

    package func route(of tokenType: TokenType, apnTopic: String) throws -> String {
        try routes().route(of: tokenType, apnTopic: apnTopic)
    }

    package func reserveSlot(in route: String, trust: PushTrust, at now: Timestamp) throws -> Bool {
        try outbox.reserveSlot(in: route, trust: trust, at: now) {
            try database.count(
                "SELECT count(*) FROM push WHERE route = $1 AND trust = ANY($2) AND \(OpenPushes.due)", route,
                SQLArray(OutboxCapacity.Slots(trust).levels))
        } makingRoom: {
            try makeRoom(in: route, outbox, at: now)
        }
    }

    package func expirePushes(to device: DeviceCode, route: String, reason: PushReason, at now: Timestamp) throws {
        let changedCount = try database.run(
            """
            UPDATE push SET state = $1, finished_at = $2, reason = $3, secrets = NULL
            WHERE device = $4 AND \(OpenPushes.ofDevice) AND route = $5 AND server = $6 AND next_attempt_at < \(NextAttempt.held)
            """,
            PushOutcome.expired, now, reason.rawValue, device, route, server)
        count(.expired, by: changedCount)
    }

    package func expireOldestPushes(
        to device: DeviceCode, route: String, reason: PushReason, count limit: Int, at now: Timestamp
    ) throws -> Int {
        let changedCount = try database.run(
            """
            UPDATE push SET state = $1, finished_at = $2, reason = $3, secrets = NULL WHERE id = ANY(ARRAY(
                SELECT id FROM push
                WHERE device = $4 AND \(OpenPushes.ofDevice) AND route = $5 AND server = $6 AND trust = $7
                    AND next_attempt_at < \(NextAttempt.held)
                ORDER BY id LIMIT $8 FOR UPDATE SKIP LOCKED))
            """,
            PushOutcome.expired, now, reason.rawValue, device, route, server, PushTrust.unproven, limit)
        count(.expired, by: changedCount)
        return changedCount
    }

    /// Withdraws the waiting pushes to an unregistered installation. Leased pushes finish after their attempt.
    func withdrawPushes(to target: Installation, at now: Timestamp) throws {
        let changedCount = try database.run(
            """
            UPDATE push SET state = $3, finished_at = $4, reason = $5, secrets = NULL
            WHERE key_hash = $1 AND installation_id = $2 AND \(OpenPushes.ofTarget) AND state <> \(OpenPushState.leased.rawValue)
            """,
            target.keyHash, target.installationID, PushOutcome.withdrawn, now, PushReason.unregistered.rawValue)
        count(.withdrawn, by: changedCount)
    }

    package func addDeliveredBundleID(_ apnTopic: String, in route: String) throws {
        let isNew =
            try database.run("INSERT INTO delivered_topic (route, apn_topic) VALUES ($1, $2) ON CONFLICT DO NOTHING", route, apnTopic) == 1
        guard isNew else { return }
        try enterRound(
            of: .unproven, in: route,
            where: "push.route = $2 AND push.trust = \(PushTrust.unknownBundleID.rawValue) AND \(OpenPushes.due) AND push.apn_topic = $3",
            apnTopic)
    }

    /// Records deliveries to registrations. After the first one to a registration, the open pushes to it are those of a proven target.
    package func addDeliveries(to targets: [TargetRegistration], at now: Timestamp) throws {
        guard !targets.isEmpty else { return }
        let rows = try database.all(
            """
            SELECT id, delivered_at IS NULL FROM registration
            JOIN unnest($1::int8[], $2::int8[]) AS target (row, target_version) ON id = row AND version = target_version
            WHERE is_live ORDER BY id FOR UPDATE OF registration
            """,
            SQLArray(targets.map(\.row)), SQLArray(targets.map(\.version))
        ) { (id: try $0.next(Int64.self), isFirst: try $0.next(Bool.self)) }
        database.add(
            """
            UPDATE registration SET
                first_delivered_at = coalesce(first_delivered_at, delivered_at, $1), delivered_at = greatest(delivered_at, $1)
            WHERE id = ANY($2)
            """,
            now, SQLArray(rows.map(\.id)))
        let proven = SQLArray(rows.filter(\.isFirst).map(\.id))
        guard !proven.elements.isEmpty else { return }
        let routes = try database.all("SELECT DISTINCT route FROM push WHERE registration = ANY($1) AND \(OpenPushes.ofTarget)", proven) {
            try $0.next(String.self)
        }
        for route in routes {
            try enterRound(
                of: .proven, in: route, where: "push.registration = ANY($3) AND push.route = $2 AND \(OpenPushes.ofTarget)", proven)
        }
    }

    /// Gives pushes of this server another trust. Those without attempts enter its current round, one of each target and round, because
    /// rounds of different trusts are not comparable. So do those that waited for the budget of unproven bundle ids. Another server has
    /// read its queue up to a place that this one does not know.
    ///
    /// - Parameters:
    ///   - condition: The SQL condition of the pushes, with the route as the second parameter.
    ///   - value: The third parameter.
    private func enterRound(of trust: PushTrust, in route: String, where condition: String, _ value: some SQLValue) throws {
        let moved = try database.all(
            """
            UPDATE push SET trust = \(trust.rawValue), next_attempt_at = moved.next FROM (
                SELECT push.id, CASE WHEN push.next_attempt_at < \(NextAttempt.firstTime)
                        OR push.reason = '\(PushReason.unprovenBundleID.rawValue)' AND push.next_attempt_at < \(NextAttempt.held)
                    THEN $1 - 1 + row_number() OVER (
                        PARTITION BY push.key_hash, push.installation_id ORDER BY push.next_attempt_at, push.id)
                    ELSE push.next_attempt_at END AS next
                FROM push WHERE \(condition) AND push.server = $4
            ) AS moved WHERE push.id = moved.id
            RETURNING push.key_hash, push.installation_id, push.next_attempt_at
            """,
            outbox.currentRound(trust: trust, in: route), route, value, server
        ) { (target: try $0.nextInstallation(), next: try $0.next(NextAttempt.self)) }
        for (target, next) in moved {
            if let round = next.round { outbox.record(round, of: target, trust: trust, in: route) }
        }
    }
}

/// Rows of accepted pushes as the columns of one statement.
private struct PushRows {
    private var pushes: [(accepted: DecidedBatch.Push, new: NewPush)] = []

    mutating func append(_ accepted: DecidedBatch.Push, _ new: NewPush) {
        pushes.append((accepted, new))
    }

    /// The statement that inserts the rows.
    func insertion(of server: Int64, at now: Timestamp, _ sealing: RowSealing) throws -> Command {
        let contents = pushes.map(\.accepted.push)
        let secrets = try pushes.map { push in
            let content = push.accepted.push
            let place = SealedPlace.push(to: content.target, deduplicationKey: content.deduplicationKey)
            return try push.new.secrets.map { try sealing.seal($0.fields, in: place) }
        }
        return Command(
            """
            INSERT INTO push (
                accepted_at, attempts, message, state, route, trust, next_attempt_at, finished_at, reason, deduplication_key, key_hash,
                installation_id, token_type, type, apn_topic, secrets, registration, server, device)
            SELECT $1, 0, new.message, new.state, new.route, new.trust, new.next_attempt_at, new.finished_at, new.reason,
                new.deduplication_key, new.key_hash, new.installation_id, new.token_type, new.type, new.apn_topic, new.secrets,
                registration.id, $16, new.device
            FROM unnest(
                $2::int8[], $3::int8[], $4::bytea[], $5::int8[], $6::int8[], $7::int8[], $8::bytea[], $9::bytea[], $10::bytea[],
                $11::bytea[], $12::int8[], $13::int8[], $14::bytea[], $15::bytea[], $17::bytea[]
            ) WITH ORDINALITY AS new (
                message, state, route, trust, next_attempt_at, finished_at, reason, deduplication_key, key_hash, installation_id,
                token_type, type, apn_topic, secrets, device, number)
            LEFT JOIN registration ON registration.key_hash = new.key_hash AND registration.installation_id = new.installation_id
                AND registration.is_live
            ORDER BY new.number
            """,
            now, SQLArray(pushes.map(\.accepted.message)),
            SQLArray(pushes.map(\.new.state)), SQLArray(pushes.map(\.new.route)), SQLArray(pushes.map(\.new.trust)),
            SQLArray(pushes.map(\.new.next)), SQLArray(pushes.map { $0.new.end == nil ? nil : now }),
            SQLArray(pushes.map(\.new.end?.reason?.rawValue)), SQLArray(contents.map(\.deduplicationKey)),
            SQLArray(contents.map(\.target.keyHash)),
            SQLArray(contents.map(\.target.installationID)), SQLArray(contents.map(\.tokenType)), SQLArray(contents.map(\.type)),
            SQLArray(contents.map(\.apnTopic)), SQLArray(secrets), server,
            SQLArray(try contents.map { try sealing.device(of: $0.targetDigest) }))
    }
}
