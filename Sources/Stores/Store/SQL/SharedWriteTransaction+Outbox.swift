import Bytes
package import Envelope
import PushProtocol
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
        for (route, topic) in update.deliveredBundleIDs { try addDeliveredBundleID(topic, in: route) }
        return try changes.tokens.flatMap { try apply($0, at: now) }
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
        let route = try route(of: accepted.tokenType, apnTopic: topic)
        let digest = accepted.targetDigest
        let hasWorked =
            try database.count("SELECT count(*) FROM proven_token WHERE token_digest = $1", try sealing.code(of: digest)) > 0
        let new = try NewPush(accepted, content: content, route: route, hasWorked: hasWorked, outbox) {
            try reserveSlot(in: route, trust: $0, at: now)
        }
        let place = SealedPlace.push(to: target, deduplicationKey: accepted.digest)
        let dialect = Database.dialect
        let id = try database.first(
            """
            INSERT INTO push (
                message, state, route, accepted_at, next_attempt_at, finished_at, attempts, deduplication_key, key_hash, installation_id,
                token_type, type, apn_topic, secrets, trust, device\(dialect.hasPrefixes ? ", deduplication_prefix" : "")
                \(dialect.hasOwners ? ", server" : ""))
            VALUES (0, $1, $2, $3, $4, $5, 0, $6, $7, '', $8, 0, $9, $10, $11, $12\(dialect.hasPrefixes ? ", $13" : "")
                \(dialect.hasOwners ? ", $14" : "")) RETURNING id
            """,
            new.state, route, now, new.next, new.end == nil ? nil : now, accepted.digest, target.keyHash, accepted.tokenType, topic,
            try new.secrets.map { try sealing.seal($0.fields, in: place) }, new.trust, try sealing.device(of: digest),
            accepted.digest.prefix, owner
        ) { try $0.next(Int64.self) }
        if let end = new.end { count(end.outcome.milestone) }
        return id
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
    package func setAside(_ rows: [Int64], _ kind: DamagedRowKind) throws {
        for row in rows {
            try database.add("INSERT INTO damaged_row (kind, row) VALUES ($1, $2) ON CONFLICT DO NOTHING", kind.rawValue, row)
            guard kind == .push else { continue }
            try database.add(
                """
                UPDATE push SET next_attempt_at = \(NextAttempt.held), reason = 'damaged' WHERE id = $1 AND \(Database.dialect.isOpenRow)
                """, row)
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
