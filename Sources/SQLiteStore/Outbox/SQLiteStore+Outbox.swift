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
            let leaseCount = try database.run(
                """
                UPDATE push SET state = \(OpenPushState.unknown.rawValue), next_attempt_at = 0
                WHERE finished_at IS NULL AND state = \(OpenPushState.leased.rawValue)
                """)
            transaction.count(.uncertain, by: leaseCount)
            try database.run("UPDATE push SET next_attempt_at = 0 WHERE finished_at IS NULL AND next_attempt_at > ?", latest)
            let earlier = try database.all("SELECT token_type, apn_topic, name FROM route") { row in
                RouteAssignment(tokenType: try row.next(), apnTopic: try row.next(), route: try row.next())
            }
            if Set(earlier) != routes { try transaction.reassign(to: routes) }
            for route in Set(routes.map(\.route)) { try transaction.findTurn(of: route) }
            return leaseCount
        }
    }

    package func duePushes(route: String, at now: Timestamp, limit: Int) async throws -> [QueuedPush] {
        let (new, lastTurn, repeated) = try await read { database in
            var lastTurn: Int64 = 0
            let new = try database.all(Self.selectNew, route, limit) { row in
                lastTurn = try row.next()
                return try row.nextQueuedPush()
            }
            return (new, lastTurn, try database.all(Self.selectRepeated, route, now, limit) { try $0.nextQueuedPush() })
        }
        let repeatedCount = outbox.turns.withLock { turns in
            turns.reach(lastTurn, in: route)
            guard new.count + repeated.count > limit else { return repeated.count }
            return max(limit - new.count, min(repeated.count, turns.retries(among: limit, in: route)))
        }
        return Array(new.prefix(limit - repeatedCount)) + repeated.prefix(repeatedCount)
    }

    /// What was never tried, by turns.
    private static let selectNew = """
        SELECT push.next_attempt_at, \(RowCursor.queuedPushColumns) FROM push \(RowCursor.queuedPushJoin)
        WHERE push.route = ? AND push.finished_at IS NULL AND push.next_attempt_at < \(OutboxTurns.end)
        ORDER BY push.next_attempt_at, push.id LIMIT ?
        """
    private static let selectRepeated = """
        SELECT \(RowCursor.queuedPushColumns) FROM push \(RowCursor.queuedPushJoin)
        WHERE push.route = ? AND push.finished_at IS NULL AND push.next_attempt_at BETWEEN \(OutboxTurns.end) AND ?
        ORDER BY push.next_attempt_at, push.id LIMIT ?
        """

    package func nextAttempt(route: String) async throws -> Timestamp? {
        let next: Timestamp? = try await read { database in
            try database.first(
                "SELECT next_attempt_at FROM push WHERE route = ? AND finished_at IS NULL ORDER BY next_attempt_at LIMIT 1", route
            ) { try $0.next() }
        }
        return next.flatMap { $0.nanoseconds == .max ? nil : $0 }
    }

    package func hasten(route: String, reasons: [String], at now: Timestamp) async throws {
        try await queue.perform { transaction in
            for reason in reasons {
                try transaction.database.run(
                    """
                    UPDATE push SET next_attempt_at = ?
                    WHERE route = ? AND next_attempt_at > ? AND finished_at IS NULL AND state <> \(OpenPushState.leased.rawValue)
                        AND reason = ?
                    """,
                    now, route, now, reason)
            }
        }
    }

    package func expirePushes(route: String, acceptedBefore oldest: Timestamp, limit: Int, at now: Timestamp) async throws -> Int {
        let expired = try await read { database in
            try database.oldest(
                limit: limit, before: oldest, at: now,
                of: "SELECT id, accepted_at, route, state FROM push WHERE finished_at IS NULL ORDER BY id"
            ) { row in
                let (queue, state): (String, OpenPushState) = (try row.next(), try row.next())
                return queue == route && state != .leased
            }
        }
        guard !expired.isEmpty else { return 0 }
        return try await queue.perform { transaction in
            try expired.count { try transaction.finish($0, as: .expired, reason: "lifetime", at: now) }
        }
    }

    package func update(_ update: OutboxUpdate, at now: Timestamp) async throws -> [ChangedRegistration] {
        try await queue.perform { transaction in
            for push in update.pushes { try transaction.apply(push, at: now) }
            for (route, topic) in update.deliveredTopics {
                try transaction.database.run("INSERT OR IGNORE INTO delivered_topic (route, apn_topic) VALUES (?, ?)", route, topic)
            }
            return try update.tokens.flatMap { try transaction.apply($0, at: now) }
        }
    }

    package func attemptedPushes(_ notification: NotificationID) async throws -> [AttemptedPush] {
        try await read { database in
            try database.all(
                """
                SELECT key_hash, installation_id, accepted_at, token_type, apn_topic, route, attempted_at
                FROM push WHERE notification_id = ?
                """,
                notification
            ) { row in
                let (target, acceptedAt, type) = (try row.nextInstallation(), try row.next(Timestamp.self), try row.next(TokenType.self))
                let topic = try row.next(String.self)
                let token =
                    try database.deviceToken(of: target, type: type, registeredBefore: acceptedAt)
                    ?? database.nextcloudToken(of: target.keyHash, topic: topic, registeredBefore: acceptedAt)
                return AttemptedPush(
                    tokenType: type, apnTopic: topic, route: try row.next(), attemptedAt: try row.next(), deviceToken: token)
            }
        }
    }

    package func deliveredTopics() async throws -> [String: Set<String>] {
        try await read { database in
            let topics = try database.all("SELECT route, apn_topic FROM delivered_topic") { row in
                (try row.next(String.self), Set([try row.next(String.self)]))
            }
            return Dictionary(topics) { $0.union($1) }
        }
    }

    package var refusedPushCounts: [String: Int] { outbox.room.withLock { $0.refusedCounts } }

    package func queuedPushCount() async throws -> Int {
        try await read { try $0.count("SELECT count(*) FROM push WHERE finished_at IS NULL") }
    }

    package func queuedPushCounts() async throws -> [String: Int] {
        try await read { database in
            let counts = try database.all("SELECT route, count(*) FROM push WHERE finished_at IS NULL GROUP BY route") { row in
                (try row.next(String.self), try row.next(Int.self))
            }
            return Dictionary(counts) { first, _ in first }
        }
    }

    package func oldestQueuedPush() async throws -> Timestamp? {
        try await read { database in
            try database.first("SELECT accepted_at FROM push WHERE finished_at IS NULL ORDER BY id LIMIT 1") { try $0.next() }
        }
    }
}

extension WriteTransaction {
    /// Puts all that waits into the queues of other routes.
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
        // Turns of several routes do not compare.
        try database.run(
            """
            UPDATE push SET next_attempt_at = turns.turn FROM (
                SELECT id, row_number() OVER (PARTITION BY route, key_hash, installation_id ORDER BY next_attempt_at, id) AS turn
                FROM push WHERE finished_at IS NULL AND next_attempt_at < \(OutboxTurns.end)
            ) AS turns WHERE push.id = turns.id
            """)
    }

    /// Goes on where the process before has stopped.
    fileprivate func findTurn(of route: String) throws {
        let first: Int64? = try database.first(
            """
            SELECT next_attempt_at FROM push WHERE route = ? AND finished_at IS NULL AND next_attempt_at BETWEEN 1 AND \(OutboxTurns.end)
            ORDER BY next_attempt_at LIMIT 1
            """,
            route
        ) { try $0.next() }
        if let first { outbox.reach(first, in: route) }
    }
}

extension RowCursor {
    /// What ``nextQueuedPush()`` reads of a push that is joined with ``queuedPushJoin``.
    static let queuedPushColumns = """
        push.id, push.message, push.key_hash, push.installation_id, push.deduplication_key, push.token_type,
        coalesce(target.device_token, push.device_token), push.apn_topic, push.type, push.chat_id, push.ciphertext,
        push.accepted_at, push.state, push.attempts, push.notification, push.registration, target.version, target.delivered_at
        """
    /// The registration that a push goes to, as long as it is the same app's.
    static let queuedPushJoin = """
        LEFT JOIN registration AS target ON target.id = push.registration AND target.is_live = 1
            AND target.token_type = push.token_type
            AND (target.apn_topic = push.apn_topic OR push.token_type <> \(TokenType.apn.rawValue))
        """

    mutating func nextQueuedPush() throws -> QueuedPush {
        var queued = QueuedPush(
            id: try next(), message: try next(),
            push: AcceptedPush(
                target: try nextInstallation(), deduplicationKey: try next(), tokenType: try next(), deviceToken: try next(),
                apnTopic: try next(), type: try next(), chatID: try next(), message: try next()),
            acceptedAt: try next(), state: try next(), attempts: try next(), notification: try nextNotification())
        let (row, version, deliveredAt): (Int64?, UInt64?, Timestamp?) = (try next(), try next(), try next())
        if let row, let version {
            queued.registration = TargetRegistration(row: row, version: version, deliveredAt: deliveredAt)
        }
        queued.isOrphan = row != nil && version == nil
        return queued
    }

    /// The next two columns.
    mutating func nextInstallation() throws -> Installation {
        Installation(keyHash: try next(), installationID: try next())
    }
}
