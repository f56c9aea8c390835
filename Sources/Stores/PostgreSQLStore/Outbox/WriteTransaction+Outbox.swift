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
            let device = try sealing.device(of: push.targetDigest)
            let new = try NewPush(accepted, route: route, trust: trust) {
                let slot = OutboxSlot(route: route, trust: trust, hasWorked: trust == .proven)
                if outbox.reserve(slot) { return true }
                // Those before it count, and may make room.
                database.add(try rows.insertion(of: server, at: now, sealing))
                rows = PushRows()
                return try takeSlot(slot, for: device, at: now)
            }
            rows.append(accepted, new, device)
            if let arrival = new.arrival(for: device) { outbox.arrived(arrival, in: route) }
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

    package func expirePushes(to device: DeviceCode, route: String, reason: PushReason, at now: Timestamp) throws {
        let changedCount = try database.run(
            """
            UPDATE push SET state = $1, finished_at = $2, reason = $3, secrets = NULL
            WHERE device = $4 AND \(OpenPushes.ofDevice) AND route = $5 AND server = $6 AND next_attempt_at < \(NextAttempt.held)
            """,
            PushOutcome.expired, now, reason.rawValue, device, route, server)
        count(.expired, by: changedCount)
    }

    @discardableResult
    package func finish(_ push: Int64, as outcome: PushOutcome, reason: PushReason?, at now: Timestamp) throws -> Bool {
        try finish([push], as: outcome, reason: reason, at: now) == 1
    }

    /// - Returns: How many were open.
    @discardableResult
    func finish(_ pushes: [Int64], as outcome: PushOutcome, reason: PushReason?, at now: Timestamp) throws -> Int {
        try finish(pushes.map { (OutboxUpdate.Push(id: $0, .finish(outcome), reason: reason), outcome) }, at: now)
    }

    /// Withdraws the waiting pushes to an unregistered installation. An attempt in flight ends without a trace.
    func withdrawPushes(to target: Installation, at now: Timestamp) throws {
        let changedCount = try database.run(
            """
            UPDATE push SET state = $3, finished_at = $4, reason = $5, secrets = NULL
            WHERE key_hash = $1 AND installation_id = $2 AND \(OpenPushes.ofTarget)
            """,
            target.keyHash, target.installationID, PushOutcome.withdrawn, now, PushReason.unregistered.rawValue)
        count(.withdrawn, by: changedCount)
    }

    package func addDeliveredBundleID(_ apnTopic: String, in route: String) throws {
        let isNew =
            try database.run("INSERT INTO delivered_topic (route, apn_topic) VALUES ($1, $2) ON CONFLICT DO NOTHING", route, apnTopic) == 1
        guard isNew else { return }
        let devices = try database.all(
            """
            UPDATE push SET trust = \(PushTrust.unproven.rawValue), next_attempt_at = CASE
                WHEN reason = '\(PushReason.unprovenBundleID.rawValue)' AND next_attempt_at < \(NextAttempt.held) THEN \(NextAttempt.now)
                ELSE next_attempt_at END
            WHERE id = ANY(ARRAY(
                SELECT id FROM push
                WHERE server = $1 AND route = $2 AND trust = \(PushTrust.unknownBundleID.rawValue) AND \(OpenPushes.waiting)
                    AND apn_topic = $3
                FOR UPDATE SKIP LOCKED))
            RETURNING device
            """,
            server, route, apnTopic
        ) { try $0.next(DeviceCode.self) }
        for device in Set(devices) { outbox.arrived(Arrivals.Device(device: device, trust: .unproven), in: route) }
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
        database.add(
            """
            UPDATE push SET trust = \(PushTrust.proven.rawValue)
            WHERE registration = ANY($1) AND \(OpenPushes.ofTarget) AND trust <> \(PushTrust.call.rawValue) AND server = $2
            """,
            proven, server)
    }
}

/// Rows of accepted pushes as the columns of one statement.
private struct PushRows {
    private var pushes: [(accepted: DecidedBatch.Push, new: NewPush, device: DeviceCode)] = []

    mutating func append(_ accepted: DecidedBatch.Push, _ new: NewPush, _ device: DeviceCode) { pushes.append((accepted, new, device)) }

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
            SQLArray(pushes.map(\.device)))
    }
}
