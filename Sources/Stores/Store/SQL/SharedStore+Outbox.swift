package import Bytes
package import Envelope
import PushProtocol
import StatusCrypto

extension SharedStore {
    package func enqueue(
        _ notifications: [AcceptedNotification], repeatsSince: Timestamp?, isDiscarded: Bool, at now: Timestamp
    ) async throws -> [Int64?] {
        try await writing { transaction in
            try notifications.map { try transaction.enqueue($0, isDiscarded ? nil : $0.content, repeatsSince: repeatsSince, at: now) }
        }
    }

    package func deliveredBundleIDs() async throws -> [String: Set<String>] {
        try await reading { database in
            let topics = try database.all("SELECT route, apn_topic FROM delivered_topic") { row in
                (try row.next(String.self), Set([try row.next(String.self)]))
            }
            return Dictionary(topics) { $0.union($1) }
        }
    }

    package func recentDevices(route: String, since time: Timestamp, limit: Int) async throws -> [RecentDevice] {
        try await reading { database in
            let suspected = Set(
                try database.all(
                    "SELECT token_digest FROM suspect_token WHERE route = $1 LIMIT $2", route, OutboxLimits.recentPushCount
                ) { RowSealing.device(of: try $0.next()) })
            return try database.all(
                """
                SELECT device, max(finished_at) FROM (
                    SELECT device, route, state, finished_at FROM push
                    WHERE finished_at IS NOT NULL AND finished_at >= $1 ORDER BY finished_at DESC LIMIT $2
                ) AS finished WHERE route = $3 AND state = $4 AND device IS NOT NULL GROUP BY device LIMIT $5
                """,
                time, OutboxLimits.recentPushCount, route, PushOutcome.sent, limit
            ) { row in
                let device: DeviceCode = try row.next()
                return RecentDevice(device: device, deliveredAt: try row.next(), isSuspected: suspected.contains(device))
            }
        }
    }
}

extension SQLDatabase {
    /// Reads which pushes belong to which route.
    package func assignedRoutes() throws -> Set<RouteAssignment> {
        Set(
            try all("SELECT token_type, apn_topic, name FROM route") { row in
                RouteAssignment(tokenType: try row.next(), apnTopic: try row.next(), route: try row.next())
            })
    }

    /// Returns whether a push with that deduplication key entered the outbox at that time or later.
    package func isQueued(_ deduplicationKey: Digest32, since: Timestamp, at now: Timestamp) throws -> Bool {
        try first(
            "SELECT 1 FROM push WHERE \(Self.dialect.isPush) AND accepted_at BETWEEN $3 AND $4 LIMIT 1", deduplicationKey,
            deduplicationKey.prefix, since, now.latestPast
        ) { $0.skipRest() } != nil
    }
}
