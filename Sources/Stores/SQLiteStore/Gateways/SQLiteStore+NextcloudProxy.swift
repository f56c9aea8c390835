import Bytes
package import Envelope
import FoundationEssentials
import GRDB
import ServerCrypto
import StatusCrypto
package import Store
import Synchronization
import Wire

extension SQLiteStore: ProxyStore {
    package func changeDevice<Result: Sendable>(
        _ identifier: DeviceIdentifier, at now: Timestamp, _ decide: @escaping @Sendable (ProxyDevice?) -> (DeviceChange, Result)
    ) async throws -> Result {
        try await queue.perform { [userKeys, maximumStoredByteCount] transaction in
            let known = try transaction.database.device(identifier, userKeys, transaction.sealing)
            let (change, result) = decide(known)
            switch change {
            case .none: break
            case .put(let device):
                if known == nil, try transaction.database.isFull(above: maximumStoredByteCount) { throw StoreError.storageFull }
                try transaction.put(device)
            case .remove: try transaction.remove(identifier, at: now)
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
        try database.run(
            "DELETE FROM nextcloud_device WHERE identifier_prefix = ? AND identifier = ?", device.identifier.digest.prefix,
            device.identifier.digest)
        let identifier = device.identifier.digest
        let secrets = try sealing.seal(
            ProxyDeviceSecrets(userKey: device.userKey.der, token: device.token).fields, in: .proxyDevice(identifier))
        let voipSecrets = try sealing.seal(value: device.voipToken?.field, in: .proxyDeviceCalls(identifier))
        try database.run(
            """
            INSERT INTO nextcloud_device (
                identifier_prefix, identifier, push_token_hash, platform, topic, voip_topic, created_at, updated_at, used_at, is_dead,
                secrets, token_code, voip_secrets, voip_token_code)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 0, ?, ?, ?, ?)
            """,
            identifier.prefix, identifier, device.pushTokenHash, device.platform.rawValue, device.topic, device.voipTopic,
            device.createdAt, device.updatedAt, device.updatedAt, secrets, try sealing.code(of: device.token), voipSecrets,
            try device.voipToken.map { try sealing.code(of: $0) })
    }

    fileprivate func remove(_ identifier: DeviceIdentifier, at now: Timestamp) throws {
        try database.run(
            """
            UPDATE nextcloud_device SET removed_at = ?, \(Self.eraseTokens)
            WHERE identifier_prefix = ? AND identifier = ? AND removed_at IS NULL
            """,
            now, identifier.digest.prefix, identifier.digest)
    }

    /// Removes the devices with a dead token. If the dead token is the one for calls, removes only that token.
    func removeNextcloudDevices(_ token: DeadToken, at now: Timestamp) throws {
        let platform: GatewayNotification.Platform = token.type == .apn ? .ios : .android
        let code = try sealing.code(of: token.token)
        try database.run(
            """
            UPDATE nextcloud_device SET voip_secrets = NULL, voip_token_code = NULL
            WHERE voip_token_code = ? AND updated_at < ? AND voip_topic = ?
            """,
            code, token.attemptedAt, token.apnTopic)
        let budget = DeathBudget(at: now)
        let deaths = try database.count("SELECT count(*) FROM nextcloud_device WHERE removed_at > ? AND is_dead = 1", budget.start)
        try database.run(
            """
            UPDATE nextcloud_device SET removed_at = ?1, is_dead = 1, \(Self.eraseTokens) WHERE id IN (
                SELECT id FROM nextcloud_device
                WHERE token_code = ?2 AND removed_at IS NULL AND platform = ?3 AND updated_at < ?4 AND (topic = ?5 OR platform <> 'ios')
                LIMIT ?6)
            """,
            now, code, platform.rawValue, token.attemptedAt, token.apnTopic, budget.remaining(after: deaths))
    }

    /// The SQL assignments that erase the tokens of a removed device.
    private static let eraseTokens = "secrets = NULL, token_code = NULL, voip_secrets = NULL, voip_token_code = NULL"

    /// Records the day of the newest notification to a device. Writing each time would take as long as the notification itself.
    func recordUse(ofDevice identifier: Digest64, at now: Timestamp) throws {
        try database.run(
            """
            UPDATE nextcloud_device SET used_at = ?
            WHERE identifier_prefix = ? AND identifier = ? AND removed_at IS NULL AND used_at < ?
            """,
            now, identifier.prefix, identifier, now.advanced(by: .seconds(-24 * 3_600)))
    }

    /// Removes devices without registration or notification since a time.
    func removeDevices(unusedSince oldest: Timestamp, at now: Timestamp, limit: Int) throws {
        try database.run(
            """
            UPDATE nextcloud_device SET removed_at = ?, \(Self.eraseTokens) WHERE id IN (
                SELECT id FROM nextcloud_device WHERE removed_at IS NULL AND used_at < ? LIMIT ?)
            """,
            now, oldest, limit)
    }

    /// Deletes devices that were removed before a time.
    ///
    /// - Returns: The number of deleted devices.
    func forgetRemovedDevices(before oldest: Timestamp, limit: Int) throws -> Int {
        try database.run(
            "DELETE FROM nextcloud_device WHERE id IN (SELECT id FROM nextcloud_device WHERE removed_at < ? LIMIT ?)",
            oldest, limit)
    }
}

extension Database {
    fileprivate func device(_ identifier: DeviceIdentifier, _ userKeys: UserKeys, _ sealing: RowSealing) throws -> ProxyDevice? {
        try first(
            """
            SELECT secrets, voip_secrets, push_token_hash, platform, topic, voip_topic, created_at, updated_at FROM nextcloud_device
            WHERE identifier_prefix = ? AND identifier = ? AND removed_at IS NULL
            """,
            identifier.digest.prefix, identifier.digest
        ) { row in
            let secrets = try row.nextProxyDeviceSecrets(of: identifier.digest, sealing)
            let userKey = try userKeys.key(stored: secrets.userKey)
            let hash: Digest64 = try row.next()
            guard let platform = GatewayNotification.Platform(rawValue: try row.next()) else { throw StoreError.damaged }
            return ProxyDevice(
                identifier: identifier, userKey: userKey, pushTokenHash: hash, platform: platform,
                token: secrets.token, topic: try row.next(),
                voipToken: secrets.voipToken, voipTopic: try row.next(),
                createdAt: try row.next(), updatedAt: try row.next())
        }
    }

    fileprivate func isRemoved(_ identifier: DeviceIdentifier, since: Timestamp) throws -> Bool {
        try count(
            "SELECT count(*) FROM nextcloud_device WHERE identifier_prefix = ? AND identifier = ? AND removed_at >= ?",
            identifier.digest.prefix, identifier.digest, since) > 0
    }
}

extension RowCursor {
    /// Reads the columns `secrets`, `voip_secrets`.
    mutating func nextProxyDeviceSecrets(of identifier: Digest64, _ sealing: RowSealing) throws -> ProxyDeviceSecrets {
        try sealing.proxyDeviceSecrets(next(), calls: next(), of: identifier)
    }
}
