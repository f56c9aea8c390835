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
            guard Set(earlier) != routes else { return leaseCount }
            try database.run("DELETE FROM route")
            for route in routes {
                try database.run(
                    "INSERT INTO route (token_type, apn_topic, name) VALUES (?, ?, ?)",
                    route.tokenType, route.apnTopic, route.route)
            }
            try database.run(
                """
                UPDATE push SET route = \(WriteTransaction.route(tokenType: "push.token_type", apnTopic: "push.apn_topic"))
                WHERE finished_at IS NULL
                """)
            return leaseCount
        }
    }

    package func duePushes(route: String, at now: Timestamp, limit: Int) async throws -> [QueuedPush] {
        try await read { database in
            try database.all(
                """
                SELECT id, message, key_hash, installation_id, triple, token_type, device_token, apn_topic, type, chat_id, ciphertext,
                    accepted_at, state, attempts, notification
                FROM push WHERE route = ? AND finished_at IS NULL AND next_attempt_at <= ? ORDER BY next_attempt_at, id LIMIT ?
                """,
                route, now, limit
            ) { row in
                QueuedPush(
                    id: try row.next(), message: try row.next(),
                    push: AcceptedPush(
                        target: try row.nextInstallation(), triple: try row.next(), tokenType: try row.next(), deviceToken: try row.next(),
                        apnTopic: try row.next(), type: try row.next(), chatID: try row.next(), message: try row.next()),
                    acceptedAt: try row.next(), state: try row.next(), attempts: try row.next(), notification: try row.nextNotification())
            }
        }
    }

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
                return AttemptedPush(tokenType: type, route: try row.next(), attemptedAt: try row.next(), deviceToken: token)
            }
        }
    }

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

extension RowCursor {
    /// The next two columns.
    mutating func nextInstallation() throws -> Installation {
        Installation(keyHash: try next(), installationID: try next())
    }
}
