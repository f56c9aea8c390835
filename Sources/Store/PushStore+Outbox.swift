package import Envelope
import GRDB
package import PushProtocol
import StatusCrypto
package import Wire

/// A push that waits in the outbox.
package struct QueuedPush: Sendable, Equatable {
    package var id: Int64
    /// The row of the push request it came with.
    package var message: Int64
    package var push: AcceptedPush
    package var acceptedAt: Timestamp
    package var state: OpenPushState
    /// Attempts so far, but for those that certainly never began.
    package var attempts: Int

    package init(
        id: Int64, message: Int64, push: AcceptedPush, acceptedAt: Timestamp, state: OpenPushState = .queued, attempts: Int = 0
    ) {
        self.id = id
        self.message = message
        self.push = push
        self.acceptedAt = acceptedAt
        self.state = state
        self.attempts = attempts
    }
}

/// Which pushes stand in a queue of their own, so that none holds up another.
package struct RouteAssignment: Hashable, Sendable {
    package var tokenType: TokenType
    /// Empty: all topics that no other assignment of that type names.
    package var apnTopic: String
    package var route: String

    package init(tokenType: TokenType, apnTopic: String, route: String) {
        self.tokenType = tokenType
        self.apnTopic = apnTopic
        self.route = route
    }
}

extension PushStore {
    /// Takes the outbox over from the process before: to be called once, before the first lease.
    ///
    /// What was leased is of unknown outcome and due at once. A delay that ends after `latest` was set by a clock that went wrong: it
    /// ends now. Where `routes` are not those of before, open pushes are put into their new queues.
    ///
    /// - Returns: how many leases there were.
    package func takeOverOutbox(routes: Set<RouteAssignment>, latest: Timestamp) async throws -> Int {
        try await commit { transaction in
            let database = transaction.database
            let leaseCount = try database.run(
                """
                UPDATE push SET state = \(OpenPushState.unknown.rawValue), next_attempt_at = 0
                WHERE finished_at IS NULL AND state = \(OpenPushState.leased.rawValue)
                """)
            transaction.count(.uncertain, by: leaseCount)
            try database.run("UPDATE push SET next_attempt_at = 0 WHERE finished_at IS NULL AND next_attempt_at > ?", latest)
            let earlier = try database.all("SELECT token_type, apn_topic, name FROM route") { row in
                RouteAssignment(
                    tokenType: TokenType(rawValue: Int32(truncatingIfNeeded: row.integer(0))), apnTopic: row.text(1), route: row.text(2))
            }
            guard Set(earlier) != routes else { return leaseCount }
            try database.run("DELETE FROM route")
            for route in routes {
                try database.run(
                    "INSERT INTO route (token_type, apn_topic, name) VALUES (?, ?, ?)",
                    Int64(route.tokenType.rawValue), route.apnTopic, route.route)
            }
            try database.run(
                """
                UPDATE push SET route = \(StoreTransaction.route(tokenType: "push.token_type", apnTopic: "push.apn_topic"))
                WHERE finished_at IS NULL
                """)
            return leaseCount
        }
    }

    /// Pushes of a route whose next attempt is due: new ones first, then the longest due. Those that are leased are not among them.
    ///
    /// - Parameter route: the empty one is the queue in which pushes are put as long as there are no routes.
    package func duePushes(route: String = "", at now: Timestamp, limit: Int) async throws -> [QueuedPush] {
        try await read { database in
            try database.all(
                """
                SELECT id, message, accepted_at, attempts, triple, key_hash, installation_id, token_type, type, apn_topic,
                    device_token, chat_id, ciphertext, state
                FROM push WHERE route = ? AND finished_at IS NULL AND next_attempt_at <= ? ORDER BY next_attempt_at, id LIMIT ?
                """,
                route, now, Int64(limit)
            ) { row in
                let push = AcceptedPush(
                    target: Installation(keyHash: try row.fixedBytes(5), installationID: row.text(6)),
                    triple: try row.fixedBytes(4), tokenType: TokenType(rawValue: Int32(truncatingIfNeeded: row.integer(7))),
                    deviceToken: row.text(10), apnTopic: row.text(9),
                    type: PushNotificationType(rawValue: Int32(truncatingIfNeeded: row.integer(8))),
                    chatID: row.bytes(11), message: row.bytes(12))
                guard let state = OpenPushState(rawValue: row.integer(13)) else { throw StoreError.damaged }
                return QueuedPush(
                    id: row.integer(0), message: row.integer(1), push: push, acceptedAt: row.timestamp(2), state: state,
                    attempts: Int(row.integer(3)))
            }
        }
    }

    /// When the next push of a route is due that is not leased; nil when there is none.
    package func nextAttempt(route: String) async throws -> Timestamp? {
        let next = try await read { database in
            try database.first(
                "SELECT next_attempt_at FROM push WHERE route = ? AND finished_at IS NULL ORDER BY next_attempt_at LIMIT 1", route
            ) { $0.timestamp(0) }
        }
        return next.flatMap { $0.nanoseconds == .max ? nil : $0 }
    }

    /// Ends pushes of a route that were accepted before a time and are not leased, the oldest first.
    ///
    /// - Returns: how many ended.
    package func expirePushes(route: String, acceptedBefore oldest: Timestamp, limit: Int, at now: Timestamp) async throws -> Int {
        let expired = try await read { database in
            try database.oldest(
                limit: limit, before: oldest, at: now,
                of: "SELECT id, accepted_at, route, state FROM push WHERE finished_at IS NULL ORDER BY id"
            ) { $0.text(2) == route && $0.integer(3) != OpenPushState.leased.rawValue }
        }
        guard !expired.isEmpty else { return 0 }
        return try await commit { try $0.finish(expired, as: .expired, reason: "lifetime", at: now) }
    }

    /// Of a push that was attempted, what a verdict that comes later needs.
    package struct AttemptedPush: Sendable, Equatable {
        package var tokenType: TokenType
        package var route: String
        package var attemptedAt: Timestamp
        /// The token that was tried; nil if the registration is gone or was changed since the push was accepted.
        package var deviceToken: String?
    }

    /// The pushes that went out under a name, as long as no newer attempt took another.
    package func attemptedPushes(_ notification: NotificationID) async throws -> [AttemptedPush] {
        try await read { database in
            let pushes = try database.all(
                "SELECT key_hash, installation_id, token_type, route, attempted_at, accepted_at FROM push WHERE notification_id = ?",
                notification
            ) { row in
                (
                    target: Installation(keyHash: try row.fixedBytes(0), installationID: row.text(1)),
                    push: AttemptedPush(
                        tokenType: TokenType(rawValue: Int32(truncatingIfNeeded: row.integer(2))), route: row.text(3),
                        attemptedAt: row.timestamp(4)),
                    acceptedAt: row.timestamp(5)
                )
            }
            let transaction = StoreTransaction(database: database)
            return try pushes.map { target, push, acceptedAt in
                var push = push
                push.deviceToken = try transaction.deviceToken(of: target, type: push.tokenType, registeredBefore: acceptedAt)
                return push
            }
        }
    }

    /// How many pushes are open.
    package func queuedPushCount() async throws -> Int {
        try await read { try $0.count("SELECT count(*) FROM push WHERE finished_at IS NULL") }
    }

    /// How many pushes are open, by route.
    package func queuedPushCounts() async throws -> [String: Int] {
        try await read { database in
            var counts: [String: Int] = [:]
            try database.forEach("SELECT route, count(*) FROM push WHERE finished_at IS NULL GROUP BY route") { row in
                counts[row.text(0)] = Int(row.integer(1))
            }
            return counts
        }
    }

    /// When the push was accepted that has waited longest; nil when none waits.
    package func oldestQueuedPush() async throws -> Timestamp? {
        try await read { database in
            try database.first("SELECT accepted_at FROM push WHERE finished_at IS NULL ORDER BY id LIMIT 1") {
                $0.timestamp(0)
            }
        }
    }
}
