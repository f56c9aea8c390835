package import Bytes
package import Envelope
import PushProtocol
import StatusCrypto
import Synchronization

extension SharedStore {
    package func enqueue(
        _ notifications: [AcceptedNotification], repeatsSince: Timestamp?, isDiscarded: Bool, at now: Timestamp
    ) async throws -> [Int64?] {
        try await writing { transaction in
            try notifications.map { try transaction.enqueue($0, isDiscarded ? nil : $0.content, repeatsSince: repeatsSince, at: now) }
        }
    }

    package var refusedPushCounts: [String: Int] { outbox.capacity.withLock { $0.rejectedCounts } }

    package func isQueueNearlyFull(of route: String, at now: Timestamp) async throws -> Bool {
        let queue = OutboxSlot.Queue(route: route, group: .knownBundleIDs)
        // What has expired or was withdrawn still counts in memory.
        guard outbox.capacity.withLock({ $0.isNearlyFull(queue) }) else { return false }
        return try await writing { try $0.isNearlyFull(queue, at: now) }
    }

    package func withdraw(_ pushes: [Int64], at now: Timestamp) async throws {
        try await writing { _ = try $0.finish(pushes, as: .withdrawn, reason: .withdrawn, at: now) }
    }

    package func waitingCalls(route: String, limit: Int) async throws -> [Arrivals.Call] {
        let owner = owner
        return try await reading { database in
            let dialect = Reading.dialect
            // Without the `+`, SQLite would read all open pushes in their order and not use the index of the calls.
            return try database.all(
                """
                SELECT id, device, has_worked, accepted_at FROM push
                WHERE \(dialect.isWaiting) AND route = $1 AND trust = \(PushTrust.call.rawValue) \(dialect.isOwned("$3"))
                ORDER BY +id LIMIT $2
                """,
                route, limit, owner
            ) { Arrivals.Call(row: try $0.next(), device: try $0.next(), hasWorked: try $0.next(), acceptedAt: try $0.next()) }
        }
    }

    package func uncertainDevices(route: String, limit: Int) async throws -> [DeviceCode] {
        let owner = owner
        return try await reading { database in
            let dialect = Reading.dialect
            return try database.all(
                """
                SELECT DISTINCT device FROM push
                WHERE \(dialect.isUncertain) AND route = $1 AND unanswered > 0 \(dialect.isOwned("$3")) LIMIT $2
                """,
                route, limit, owner
            ) { try $0.next() }
        }
    }

    package func mark(_ pushes: [Int64], until time: Timestamp) async throws -> [Int64: QueuedPush] {
        try await writing { transaction in
            let marked = try transaction.mark(pushes, until: time)
            let open = try marked.compactMap { try transaction.database.queuedPush($0, transaction.sealing, of: transaction.owner) }
            return Dictionary(open.map { ($0.id, $0) }) { first, _ in first }
        }
    }

    package func bringForward(route: String, limit: Int, at now: Timestamp) async throws -> Int {
        try await writing { try $0.bringForward(in: route, limit: limit, at: now) }
    }

    package func expireCalls(route: String, acceptedBefore oldest: Timestamp, limit: Int, at now: Timestamp) async throws -> Int {
        try await writing { transaction in
            let dialect = Reading.dialect
            let calls = try transaction.database.all(
                """
                SELECT id FROM push
                WHERE \(dialect.isWaiting) AND route = $1 AND trust = \(PushTrust.call.rawValue) \(dialect.isOwned("$4"))
                    AND accepted_at < $2 AND state = \(OpenPushState.queued.rawValue) ORDER BY +id LIMIT $3 \(dialect.skippingLocked)
                """,
                route, oldest, limit, transaction.owner
            ) { try $0.next(Int64.self) }
            return try transaction.finish(calls, as: .expired, reason: .lifetime, at: now)
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

extension SharedStore {
    /// A token change rewrites so many rows of a target at once.
    private static var movedCount: Int { 256 }

    /// Moves the found pushes whose targets have another device now.
    package func moving(_ found: [FoundPush], in route: String) async throws -> [FoundPush] {
        let devices = try found.map { found -> DeviceCode? in
            guard case .push(let push, _) = found, push.orphanReason == nil else { return nil }
            let device = try sealing.device(of: push.targetDigest)
            return device == push.device ? nil : device
        }
        guard devices.contains(where: { $0 != nil }) else { return found }
        return try await writing { transaction in
            try zip(found, devices).map { found, device in
                guard let device, case .push(let push, _) = found else { return found }
                return try transaction.move(push, to: device, in: route, limit: Self.movedCount) ? .moved : .locked
            }
        }
    }
}

extension SQLDatabase {
    /// Reads an open push of a server, or nil if it has ended, belongs to another one, or cannot be read.
    func queuedPush(_ id: Int64, _ sealing: RowSealing, of owner: Int64?) throws -> QueuedPush? {
        try first(
            """
            SELECT \(QueuedPush.columns)
            FROM push LEFT JOIN registration AS target ON target.id = push.registration AND target.is_live
            WHERE push.id = $1 AND \(Self.dialect.isOpenRow) \(Self.dialect.isOwned("$2"))
            """,
            id, owner
        ) { row in try row.readable { try $0.nextQueuedPush(id, sealing) } } ?? nil
    }

    /// Returns a gateway's push with the token that its device has registered now. A device that has left withdraws it. Of a device that
    /// cannot be read, returns nil, and the push joins the damaged ones.
    package func addressed(_ push: QueuedPush, or damaged: inout [Int64], _ sealing: RowSealing) throws -> QueuedPush? {
        let identifier = push.push.target.keyHash
        guard let notification = push.notification, identifier != Digest64() else { return push }
        var push = push
        let found = try first(
            """
            SELECT secrets, voip_secrets, topic, voip_topic FROM nextcloud_device
            WHERE \(Self.dialect.isProxyDevice) AND removed_at IS NULL
            """,
            identifier, identifier.prefix
        ) { row in
            try row.readable(push.id, or: &damaged) { row in
                let secrets = try sealing.proxyDeviceSecrets(row.next(), calls: row.next(), of: identifier)
                return (secrets: secrets, topic: try row.next(String?.self), voipTopic: try row.next(String?.self))
            }
        }
        if let found, found == nil { return nil }
        let isVoIP = notification.kind == .voip && notification.platform == .ios
        guard let device = found ?? nil, let token = isVoIP ? device.secrets.voipToken : device.secrets.token else {
            push.orphanReason = .unregistered
            return push
        }
        guard notification.platform == .android || (isVoIP ? device.voipTopic : device.topic) == notification.topic else {
            push.orphanReason = .otherApp
            return push
        }
        push.notification?.token = token
        push.push.deviceToken = token
        return push
    }

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
