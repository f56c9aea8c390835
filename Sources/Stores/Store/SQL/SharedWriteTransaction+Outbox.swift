import Bytes
package import Envelope
package import PushProtocol
import StatusCrypto
import Wire

extension SharedWriteTransaction {
    /// Counts events in the ledger, in the same transaction.
    package func count(_ milestone: Milestone, by amount: Int = 1) { ledger.add(milestone, count: amount) }

    /// Applies an update.
    ///
    /// - Returns: The registrations that were removed with their tokens.
    package func apply(_ update: OutboxUpdate, at now: Timestamp) throws -> [ChangedRegistration] {
        let changes = ChangeOrder(update)
        try applyPushes(changes, at: now)
        for push in update.pushes { if case .finish = push.change, let slot = push.slot { outbox.release(slot) } }
        for (route, topic) in update.deliveredBundleIDs { try addDeliveredBundleID(topic, in: route) }
        return try changes.tokens.flatMap { try apply($0, at: now) }
    }

    /// Adds pushes to the outbox.
    ///
    /// - Parameter loaded: The registrations that were loaded. The batch may have added others.
    package func enqueue(_ accepted: [DecidedBatch.Push], loaded: [Installation: PushTargetRow], at now: Timestamp) throws {
        guard !accepted.isEmpty else { return }
        let dialect = Database.dialect
        let insertion = """
            INSERT INTO push (
                message, state, route, accepted_at, next_attempt_at, finished_at, reason, attempts, deduplication_key, key_hash,
                installation_id, token_type, type, apn_topic, secrets, registration, trust, device
                \(dialect.hasPrefixes ? ", deduplication_prefix" : "") \(dialect.hasOwners ? ", server" : ""))
            VALUES ($1, $2, $3, $4, $5, $6, $7, 0, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17
                \(dialect.hasPrefixes ? ", $18" : "") \(dialect.hasOwners ? ", $19" : ""))
            """
        let routes = try routes()
        let targets = try targets(of: accepted, loaded)
        for accepted in accepted {
            let (push, target) = (accepted.push, targets[accepted.push.target])
            let route = routes.route(of: push.tokenType, apnTopic: push.apnTopic)
            let trust = PushTrust(
                hasWorked: target?.hasWorked ?? false, push.tokenType, apnTopic: push.apnTopic, namedBundleIDs: outbox.namedBundleIDs
            ) { routes.isKnown(push.apnTopic, in: route) }
            let device = try sealing.device(of: push.targetDigest)
            let new = try NewPush(accepted, route: route, trust: trust) {
                try takeSlot(OutboxSlot(route: route, trust: trust, hasWorked: trust == .proven), for: device, at: now)
            }
            let place = SealedPlace.push(to: push.target, deduplicationKey: push.deduplicationKey)
            try database.add(
                insertion, accepted.message, new.state, route, now, new.next, new.end == nil ? nil : now, new.end?.reason?.rawValue,
                push.deduplicationKey, push.target.keyHash, push.target.installationID, push.tokenType, push.type, push.apnTopic,
                try new.secrets.map { try sealing.seal($0.fields, in: place) }, target?.row, trust, device,
                push.deduplicationKey.prefix, owner)
            if let arrival = new.arrival(for: device) { outbox.arrived(arrival, in: route) }
            for milestone in new.milestones { count(milestone) }
        }
    }

    /// Returns the live registrations that pushes are for. Reads those that were not loaded.
    private func targets(
        of pushes: [DecidedBatch.Push], _ loaded: [Installation: PushTargetRow]
    ) throws -> [Installation: PushTargetRow] {
        var targets = loaded
        let others = Set(pushes.map(\.push.target)).subtracting(loaded.keys)
        try database.run(
            """
            SELECT key_hash, installation_id, id, delivered_at IS NOT NULL FROM registration
            WHERE \(Database.dialect.isOfKey) AND installation_id = $3 AND is_live
            """,
            each: others.map { ($0.keyHash, $0.keyHash.prefix, $0.installationID) }
        ) { targets[try $0.nextInstallation()] = PushTargetRow(row: try $0.next(), hasWorked: try $0.next()) }
        return targets
    }

    /// Adds a gateway's notification to the outbox. Its row has the message 0 and no registration.
    ///
    /// - Parameters:
    ///   - content: The notification as it is stored; nil discards it.
    ///   - repeatsSince: The time since which the same notification counts as a repetition; nil for none.
    /// - Returns: The row, or nil for a repetition.
    func enqueue(
        _ accepted: AcceptedNotification, _ content: [UInt8]?, repeatsSince: Timestamp?, at now: Timestamp
    ) throws -> Int64? {
        count(.accepted)
        if let device = Digest64(accepted.owner) { try database.recordUse(ofDevice: device, at: now) }
        if let repeatsSince, try database.isQueued(accepted.digest, since: repeatsSince, at: now) {
            count(.merged)
            return nil
        }
        let (target, topic) = (accepted.target, accepted.notification.topic ?? "")
        let route = try routes().route(of: accepted.tokenType, apnTopic: topic)
        let digest = accepted.targetDigest
        let hasWorked =
            try database.count("SELECT count(*) FROM proven_token WHERE token_digest = $1", try sealing.code(of: digest)) > 0
        let device = try sealing.device(of: digest)
        let new = try NewPush(accepted, content: content, route: route, hasWorked: hasWorked) {
            try takeSlot(OutboxSlot(route: route, trust: $0, hasWorked: hasWorked), for: device, at: now)
        }
        let place = SealedPlace.push(to: target, deduplicationKey: accepted.digest)
        let dialect = Database.dialect
        let id = try database.first(
            """
            INSERT INTO push (
                message, state, route, accepted_at, next_attempt_at, finished_at, attempts, deduplication_key, key_hash, installation_id,
                token_type, type, apn_topic, secrets, trust, device, has_worked\(dialect.hasPrefixes ? ", deduplication_prefix" : "")
                \(dialect.hasOwners ? ", server" : ""))
            VALUES (0, $1, $2, $3, $4, $5, 0, $6, $7, '', $8, 0, $9, $10, $11, $12, $13\(dialect.hasPrefixes ? ", $14" : "")
                \(dialect.hasOwners ? ", $15" : "")) RETURNING id
            """,
            new.state, route, now, new.next, new.end == nil ? nil : now, accepted.digest, target.keyHash, accepted.tokenType, topic,
            try new.secrets.map { try sealing.seal($0.fields, in: place) }, new.trust, device, hasWorked,
            accepted.digest.prefix, owner
        ) { try $0.next(Int64.self) }
        if let end = new.end {
            count(end.outcome.milestone)
        } else if let id, new.trust == .call {
            outbox.arrived(Arrivals.Call(row: id, device: device, hasWorked: hasWorked, acceptedAt: now), in: route)
        } else if let arrival = new.arrival(for: device) {
            outbox.arrived(arrival, in: route)
        }
        return id
    }

    /// Marks open pushes as being attempted, before an attempt that may be made once at most, or during a slow one. Others are merged into
    /// them no longer, and a start does not repeat the attempt before a time.
    ///
    /// - Returns: Those that are marked. Another session of the database holds the others' rows, or they have ended.
    package func mark(_ rows: [Int64], until time: Timestamp) throws -> [Int64] {
        try rows.compactMap { row in
            try database.first(
                """
                UPDATE push SET state = \(OpenPushState.unknown.rawValue), next_attempt_at = $1
                WHERE id IN (
                    SELECT id FROM push
                    WHERE id = $2 AND \(Database.dialect.isOpenRow) AND next_attempt_at < \(NextAttempt.held) \(isOwned("$3"))
                    \(Database.dialect.skippingLocked))
                RETURNING id
                """,
                time, row, owner
            ) { try $0.next(Int64.self) }
        }
    }

    /// Shortens the waits of pushes whose attempts got no answer, those first that have waited longest. gorush may work on each for as long
    /// as always after its request, and after each time so much longer.
    ///
    /// - Returns: The number of pushes.
    package func bringForward(in route: String, limit: Int, at now: Timestamp) throws -> Int {
        let interval = UncertainAttempts.interval / .nanoseconds(1)
        let due = "attempted_at + (1 + brought_forward) * \(Int64(interval))"
        let moved = try database.all(
            """
            UPDATE push SET
                brought_forward = brought_forward + 1,
                next_attempt_at = CASE WHEN \(due) > $1 THEN \(due) ELSE $1 END
            WHERE id IN (
                SELECT id FROM push
                WHERE \(Database.dialect.isUncertain) AND route = $2 \(isOwned("$4")) AND unanswered > 0
                    AND next_attempt_at > $1 AND next_attempt_at > \(due) AND next_attempt_at < \(NextAttempt.held)
                ORDER BY attempted_at LIMIT $3 \(Database.dialect.skippingLocked))
            RETURNING device, trust, next_attempt_at
            """,
            now, route, limit, owner
        ) { Arrivals.Device(device: try $0.next(), trust: try $0.next(), due: try $0.next(NextAttempt.self).time) }
        for device in moved { outbox.arrived(device, in: route) }
        return moved.count
    }

    /// Rewrites the device of pushes whose target has another token by now. Its server tells the route.
    ///
    /// - Parameter limit: How many rows of the target change at once.
    /// - Returns: Whether any has changed. Another session of the database may hold their rows.
    package func move(_ push: QueuedPush, to device: DeviceCode, in route: String, limit: Int) throws -> Bool {
        let moved = try database.all(
            """
            UPDATE push SET device = $3 WHERE id IN (
                SELECT id FROM push
                WHERE \(Database.dialect.isOpenOfTarget) AND device = $4 AND route = $5 \(isOwned("$7"))
                ORDER BY id LIMIT $6 \(Database.dialect.skippingLocked))
            RETURNING trust
            """,
            push.push.target.keyHash, push.push.target.installationID, device, push.device, route, limit, owner
        ) { try $0.next(PushTrust.self) }
        for trust in moved where trust != .call { outbox.arrived(Arrivals.Device(device: device, trust: trust), in: route) }
        return !moved.isEmpty
    }

    /// Writes the content of a deferred push with which others were coalesced. Finished pushes do not change.
    package func rewrite(_ deferred: DeferredPush) throws {
        let dialect = Database.dialect
        let row = try database.first(
            """
            SELECT key_hash, installation_id, deduplication_key, secrets FROM push
            WHERE id = $1 AND \(dialect.isOpenRow) \(dialect.forUpdate)
            """,
            deferred.row
        ) { row in
            let place = SealedPlace.push(to: try row.nextInstallation(), deduplicationKey: try row.next())
            return (place: place, secrets: try sealing.pushSecrets(row.next(), in: place))
        }
        guard var row else { return }
        row.secrets.chatID = PushSecrets.sendable(deferred.content.chatID)
        row.secrets.message = PushSecrets.sendable(deferred.content.message)
        try database.add("UPDATE push SET secrets = $1 WHERE id = $2", try sealing.seal(row.secrets.fields, in: row.place), deferred.row)
    }

    /// Sets rows aside that cannot be read. A push then waits until a server starts or takes it over, which makes it due again.
    ///
    /// - Returns: The pushes that wait. Another session of the database holds the others' rows, or they have ended.
    @discardableResult
    package func setAside(_ rows: [Int64], _ kind: DamagedRowKind) throws -> [Int64] {
        damagedRows.note(rows, of: kind.rawValue)
        try database.add(
            "INSERT INTO damaged_row (kind, row) VALUES ($1, $2) ON CONFLICT DO NOTHING", each: rows.map { (kind.rawValue, $0) })
        guard kind == .push else { return [] }
        return try rows.compactMap { row in
            try database.first(
                """
                UPDATE push SET next_attempt_at = \(NextAttempt.held), reason = 'damaged'
                WHERE id IN (SELECT id FROM push WHERE id = $1 AND \(Database.dialect.isOpenRow) \(Database.dialect.skippingLocked))
                RETURNING id
                """, row
            ) { try $0.next(Int64.self) }
        }
    }

    /// Deletes what is only kept for a while: suspicions, deliveries to tokens, removed registrations and removed devices.
    ///
    /// - Parameter limit: How many rows of each table at most.
    /// - Returns: The number of rows of the table that lost most.
    package func pruneTokens(_ oldest: Retention, limit: Int, at now: Timestamp) throws -> Int {
        let tables = [
            ("suspect_token", "token_digest", "tried_at", now.advanced(by: .zero - Suspicion.lifetime)),
            ("proven_token", "token_digest", "delivered_at", oldest.provenTokens),
            ("dead_registration", "id", "died_at", oldest.deadRegistrations),
            ("nextcloud_device", Database.dialect.proxyDeviceRow, "removed_at", oldest.removedDevices),
        ]
        let counts = try tables.map { table, key, column, time in
            try database.run(
                """
                DELETE FROM \(table) WHERE \(key) IN (
                    SELECT \(key) FROM \(table) WHERE \(column) < $1 LIMIT $2 \(Database.dialect.skippingLocked))
                """,
                time, limit)
        }
        return counts.max() ?? 0
    }
}
