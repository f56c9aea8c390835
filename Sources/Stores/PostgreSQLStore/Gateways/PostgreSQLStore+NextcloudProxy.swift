import Bytes
package import Envelope
import FoundationEssentials
import ServerCrypto
import StatusCrypto
package import Store
import Synchronization
import Wire

extension PostgreSQLStore: ProxyStore {
    package func changeDevice<Result: Sendable>(
        _ identifier: DeviceIdentifier, at now: Timestamp, _ decide: @escaping @Sendable (ProxyDevice?) -> (DeviceChange, Result)
    ) async throws -> Result {
        try await write { [userKeys, size, maximumStoredByteCount] transaction in
            let known = try transaction.database.device(identifier, userKeys, transaction.sealing)
            let (change, result) = decide(known)
            switch change {
            case .none: break
            case .put(let device):
                if known == nil, let maximumStoredByteCount, try size.exceeds(maximumStoredByteCount, transaction.database) {
                    throw StoreError.storageFull
                }
                try transaction.put(device)
            case .remove: transaction.remove(identifier, at: now)
            }
            return result
        }
    }

    package func devices(
        _ identifiers: Set<DeviceIdentifier>, removedSince: Timestamp
    ) async throws -> (known: [DeviceIdentifier: ProxyDevice], removed: Set<DeviceIdentifier>) {
        try await read { [userKeys, sealing] database in
            var known: [DeviceIdentifier: ProxyDevice] = [:]
            var removed: Set<DeviceIdentifier> = []
            for identifier in identifiers {
                if let device = try database.device(identifier, userKeys, sealing) {
                    known[identifier] = device
                } else if try database.isRemoved(identifier, since: removedSince) {
                    removed.insert(identifier)
                }
            }
            return (known, removed)
        }
    }
}

extension WriteTransaction {
    fileprivate func put(_ device: ProxyDevice) throws {
        let identifier = device.identifier.digest
        let secrets = try sealing.seal(
            ProxyDeviceSecrets(userKey: device.userKey.der, token: device.token).fields, in: .proxyDevice(identifier))
        let voipSecrets = try sealing.seal(value: device.voipToken?.field, in: .proxyDeviceCalls(identifier))
        database.add(
            """
            INSERT INTO nextcloud_device (
                identifier, push_token_hash, platform, topic, voip_topic, created_at, updated_at, used_at, is_dead, secrets, token_code,
                voip_secrets, voip_token_code)
            VALUES ($1, $2, $3, $4, $5, $6, $7, $7, false, $8, $9, $10, $11)
            ON CONFLICT (identifier) DO UPDATE SET
                push_token_hash = excluded.push_token_hash, platform = excluded.platform, topic = excluded.topic,
                voip_topic = excluded.voip_topic, created_at = excluded.created_at, updated_at = excluded.updated_at, used_at = excluded.used_at, removed_at = NULL,
                is_dead = false, secrets = excluded.secrets, token_code = excluded.token_code, voip_secrets = excluded.voip_secrets,
                voip_token_code = excluded.voip_token_code
            """,
            identifier, device.pushTokenHash, device.platform.rawValue, device.topic, device.voipTopic, device.createdAt, device.updatedAt,
            secrets, try sealing.code(of: device.token), voipSecrets, try device.voipToken.map { try sealing.code(of: $0) })
    }

    fileprivate func remove(_ identifier: DeviceIdentifier, at now: Timestamp) {
        database.add(
            "UPDATE nextcloud_device SET removed_at = $1, \(Self.eraseTokens) WHERE identifier = $2 AND removed_at IS NULL", now,
            identifier.digest)
    }

    /// Removes the devices with a dead token. If the dead token is the one for calls, removes only that token.
    func removeNextcloudDevices(_ token: DeadToken, at now: Timestamp) throws {
        let platform: GatewayNotification.Platform = token.type == .apn ? .ios : .android
        let code = try sealing.code(of: token.token)
        database.add(
            """
            UPDATE nextcloud_device SET voip_secrets = NULL, voip_token_code = NULL
            WHERE voip_token_code = $1 AND updated_at < $2 AND voip_topic = $3
            """,
            code, token.attemptedAt, token.apnTopic)
        let budget = DeathBudget(at: now)
        let deaths = try database.count("SELECT count(*) FROM nextcloud_device WHERE removed_at > $1 AND is_dead", budget.start)
        database.add(
            """
            UPDATE nextcloud_device SET removed_at = $1, is_dead = true, \(Self.eraseTokens) WHERE identifier IN (
                SELECT identifier FROM nextcloud_device
                WHERE token_code = $2 AND removed_at IS NULL AND platform = $3 AND updated_at < $4 AND (topic = $5 OR platform <> 'ios')
                LIMIT $6)
            """,
            now, code, platform.rawValue, token.attemptedAt, token.apnTopic, budget.remaining(after: deaths))
    }

    /// The SQL assignments that erase the tokens of a removed device.
    private static let eraseTokens = "secrets = NULL, token_code = NULL, voip_secrets = NULL, voip_token_code = NULL"

    /// Records the day of the newest notification to a device. Writing each time would take as long as the notification itself.
    func recordUse(ofDevice identifier: Digest64, at now: Timestamp) {
        database.add(
            "UPDATE nextcloud_device SET used_at = $1 WHERE identifier = $2 AND removed_at IS NULL AND used_at < $3", now, identifier,
            now.advanced(by: .seconds(-24 * 3_600)))
    }

    /// Removes devices without registration or notification since a time.
    func removeDevices(unusedSince oldest: Timestamp, at now: Timestamp, limit: Int) {
        database.add(
            """
            UPDATE nextcloud_device SET removed_at = $1, \(Self.eraseTokens) WHERE identifier IN (
                SELECT identifier FROM nextcloud_device WHERE removed_at IS NULL AND used_at < $2 LIMIT $3
                FOR UPDATE SKIP LOCKED)
            """,
            now, oldest, limit)
    }
}

extension Transaction {
    fileprivate func device(_ identifier: DeviceIdentifier, _ userKeys: UserKeys, _ sealing: RowSealing) throws -> ProxyDevice? {
        try first(
            """
            SELECT secrets, voip_secrets, push_token_hash, platform, topic, voip_topic, created_at, updated_at
            FROM nextcloud_device WHERE identifier = $1 AND removed_at IS NULL
            """,
            identifier.digest
        ) { row in
            let secrets = try row.nextProxyDeviceSecrets(of: identifier.digest, sealing)
            let userKey = try userKeys.key(stored: secrets.userKey)
            let hash: Digest64 = try row.next()
            guard let platform = GatewayNotification.Platform(rawValue: try row.next()) else { throw StoreError.damaged }
            return ProxyDevice(
                identifier: identifier, userKey: userKey, pushTokenHash: hash, platform: platform, token: secrets.token,
                topic: try row.next(), voipToken: secrets.voipToken, voipTopic: try row.next(), createdAt: try row.next(),
                updatedAt: try row.next())
        }
    }

    fileprivate func isRemoved(_ identifier: DeviceIdentifier, since: Timestamp) throws -> Bool {
        try count(
            "SELECT count(*) FROM nextcloud_device WHERE identifier = $1 AND removed_at >= $2", identifier.digest, since) > 0
    }
}
