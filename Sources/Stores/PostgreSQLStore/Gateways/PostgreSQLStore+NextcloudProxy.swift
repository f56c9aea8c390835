import Envelope
package import Store

extension PostgreSQLStore: ProxyStore {}

extension WriteTransaction {
    package func put(_ device: ProxyDevice, _ columns: ProxyDeviceColumns) {
        database.add(
            """
            INSERT INTO nextcloud_device (
                identifier, push_token_hash, platform, topic, voip_topic, created_at, updated_at, used_at, is_dead, secrets, token_code,
                voip_secrets, voip_token_code)
            VALUES ($1, $2, $3, $4, $5, $6, $7, $7, false, $8, $9, $10, $11)
            ON CONFLICT (identifier) DO UPDATE SET
                push_token_hash = excluded.push_token_hash, platform = excluded.platform, topic = excluded.topic,
                voip_topic = excluded.voip_topic, created_at = excluded.created_at, updated_at = excluded.updated_at,
                used_at = greatest(nextcloud_device.used_at, excluded.used_at), removed_at = NULL, is_dead = false,
                secrets = excluded.secrets, token_code = excluded.token_code, voip_secrets = excluded.voip_secrets,
                voip_token_code = excluded.voip_token_code
            """,
            device.identifier.digest, device.pushTokenHash, device.platform.rawValue, device.topic, device.voipTopic, device.createdAt,
            device.updatedAt, columns.secrets, columns.tokenCode, columns.voipSecrets, columns.voipTokenCode)
    }
}
