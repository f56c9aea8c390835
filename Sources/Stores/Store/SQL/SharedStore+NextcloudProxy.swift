package import Bytes
package import Envelope
import ServerCrypto
import StatusCrypto
import Wire

extension SharedStore {
    package func changeDevice<Result: Sendable>(
        _ identifier: DeviceIdentifier, at now: Timestamp, _ decide: @escaping @Sendable (StoredDevice?) -> (DeviceChange, Result)
    ) async throws -> Result {
        try await writing { transaction in
            let known = try transaction.database.device(identifier, userKeys, transaction.sealing, damagedRows)
            let (change, result) = decide(known)
            switch change {
            case .none: break
            case .put(let device):
                if known == nil, try isFull(transaction.database) { throw StoreError.storageFull }
                try transaction.put(device, ProxyDeviceColumns(device, transaction.sealing))
                if case .readable(let known) = known, known.targets != device.targets { try transaction.tellOfChange(known) }
            case .remove:
                try transaction.database.remove(identifier, at: now)
                if case .readable(let known) = known { try transaction.tellOfChange(known) }
            }
            return result
        }
    }

    package func devices(
        _ identifiers: Set<DeviceIdentifier>, removedSince: Timestamp
    ) async throws -> (known: [DeviceIdentifier: StoredDevice], removed: Set<DeviceIdentifier>) {
        try await reading { database in
            var known: [DeviceIdentifier: StoredDevice] = [:]
            var removed: Set<DeviceIdentifier> = []
            for identifier in identifiers {
                if let device = try database.device(identifier, userKeys, sealing, damagedRows) {
                    known[identifier] = device
                } else if try database.isRemoved(identifier, since: removedSince) {
                    removed.insert(identifier)
                }
            }
            return (known, removed)
        }
    }
}

extension SQLDatabase {
    /// Reads a device. A damaged row is noted: it must not stop the batch that it is looked up for.
    fileprivate func device(
        _ identifier: DeviceIdentifier, _ userKeys: UserKeyCache, _ sealing: RowSealing, _ damagedRows: DamagedRows
    ) throws -> StoredDevice? {
        try first(
            """
            SELECT secrets, voip_secrets, push_token_hash, platform, topic, voip_topic, created_at, updated_at
            FROM nextcloud_device WHERE \(Self.dialect.isProxyDevice) AND removed_at IS NULL
            """,
            identifier.digest, identifier.digest.prefix
        ) { row in
            let device = try row.readable { row in
                let secrets = try sealing.proxyDeviceSecrets(row.next(), calls: row.next(), of: identifier.digest)
                let userKey = try userKeys.key(stored: secrets.userKey)
                let hash: Digest64 = try row.next()
                guard let platform = GatewayNotification.Platform(rawValue: try row.next()) else { throw StoreError.damaged }
                return ProxyDevice(
                    identifier: identifier, userKey: userKey, pushTokenHash: hash, platform: platform, token: secrets.token,
                    topic: try row.next(), voipToken: secrets.voipToken, voipTopic: try row.next(), createdAt: try row.next(),
                    updatedAt: try row.next())
            }
            guard let device else {
                damagedRows.note([identifier.digest.prefix], of: "nextcloud_device")
                return .damaged
            }
            return .readable(device)
        }
    }

    fileprivate func isRemoved(_ identifier: DeviceIdentifier, since: Timestamp) throws -> Bool {
        try count(
            "SELECT count(*) FROM nextcloud_device WHERE \(Self.dialect.isProxyDevice) AND removed_at >= $3", identifier.digest,
            identifier.digest.prefix, since) > 0
    }

    fileprivate func remove(_ identifier: DeviceIdentifier, at now: Timestamp) throws {
        try add(
            "UPDATE nextcloud_device SET removed_at = $3, \(eraseTokens) WHERE \(Self.dialect.isProxyDevice) AND removed_at IS NULL",
            identifier.digest, identifier.digest.prefix, now)
    }

    /// Records the day of the newest notification to a device. Writing each time would take as long as the notification itself.
    package func recordUse(ofDevice identifier: Digest64, at now: Timestamp) throws {
        try add(
            "UPDATE nextcloud_device SET used_at = $3 WHERE \(Self.dialect.isProxyDevice) AND removed_at IS NULL AND used_at < $4",
            identifier, identifier.prefix, now, now.advanced(by: .seconds(-24 * 3_600)))
    }

    /// Removes devices without registration or notification since a time.
    ///
    /// - Returns: The number of devices.
    func removeDevices(unusedSince oldest: Timestamp, at now: Timestamp, limit: Int) throws -> Int {
        let row = Self.dialect.proxyDeviceRow
        return try run(
            """
            UPDATE nextcloud_device SET removed_at = $1, \(eraseTokens) WHERE \(row) IN (
                SELECT \(row) FROM nextcloud_device WHERE removed_at IS NULL AND used_at < $2 LIMIT $3 \(Self.dialect.skippingLocked))
            """,
            now, oldest, limit)
    }
}

extension SharedWriteTransaction {
    /// Removes the devices with a dead token. If the dead token is the one for calls, removes only that token.
    func removeDevices(_ token: DeadToken, at now: Timestamp) throws {
        let platform: GatewayNotification.Platform = token.type == .apn ? .ios : .android
        let code = try sealing.code(of: token.token)
        try database.add(
            """
            UPDATE nextcloud_device SET voip_secrets = NULL, voip_token_code = NULL
            WHERE voip_token_code = $1 AND updated_at < $2 AND voip_topic = $3
            """,
            code, token.attemptedAt, token.apnTopic)
        let budget = DeathBudget(at: now)
        let deaths = try database.count("SELECT count(*) FROM nextcloud_device WHERE removed_at > $1 AND is_dead", budget.start)
        let row = Database.dialect.proxyDeviceRow
        try database.add(
            """
            UPDATE nextcloud_device SET removed_at = $1, is_dead = true, \(eraseTokens) WHERE \(row) IN (
                SELECT \(row) FROM nextcloud_device
                WHERE token_code = $2 AND removed_at IS NULL AND platform = $3 AND updated_at < $4 AND (topic = $5 OR platform <> 'ios')
                LIMIT $6)
            """,
            now, code, platform.rawValue, token.attemptedAt, token.apnTopic, budget.remaining(after: deaths))
    }
}

/// The SQL assignments that erase the tokens of a removed device.
private let eraseTokens = "secrets = NULL, token_code = NULL, voip_secrets = NULL, voip_token_code = NULL"

extension SharedWriteTransaction {
    /// Tells the routes that what waits for a device has to be looked up: it has another token now, or has left.
    fileprivate func tellOfChange(_ device: ProxyDevice) throws {
        for target in device.targets {
            outbox.changed(
                try sealing.device(of: target.token.targetDigest(as: target.type, apnTopic: target.topic)),
                in: try routes().route(of: target.type, apnTopic: target.topic))
        }
    }
}

extension ProxyDevice {
    fileprivate struct Target: Equatable {
        var token: DeviceToken
        var type: TokenType
        var topic: String
    }

    /// Where its pushes and calls go.
    fileprivate var targets: [Target] {
        let type: TokenType = platform == .ios ? .apn : .firebase
        return [Target(token: token, type: type, topic: topic ?? "")]
            + [voipToken].compactMap(\.self).map { Target(token: $0, type: type, topic: voipTopic ?? "") }
    }
}
