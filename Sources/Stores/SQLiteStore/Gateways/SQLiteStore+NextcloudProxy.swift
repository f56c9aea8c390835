import Bytes
import Envelope
import GRDB
package import Store

extension SQLiteStore: ProxyStore {}

extension WriteTransaction {
    package func put(_ device: ProxyDevice, _ columns: ProxyDeviceColumns) throws {
        let identifier = device.identifier.digest
        let lastUse = try database.first(
            "DELETE FROM nextcloud_device WHERE identifier_prefix = ? AND identifier = ? RETURNING used_at", identifier.prefix, identifier
        ) { try $0.next(Timestamp.self) }
        try database.run(
            """
            INSERT INTO nextcloud_device (
                identifier_prefix, identifier, push_token_hash, platform, topic, voip_topic, created_at, updated_at, used_at, is_dead,
                secrets, token_code, voip_secrets, voip_token_code)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 0, ?, ?, ?, ?)
            """,
            identifier.prefix, identifier, device.pushTokenHash, device.platform.rawValue, device.topic, device.voipTopic,
            device.createdAt, device.updatedAt, max(device.updatedAt, lastUse ?? device.updatedAt), columns.secrets, columns.tokenCode,
            columns.voipSecrets,
            columns.voipTokenCode)
    }
}
