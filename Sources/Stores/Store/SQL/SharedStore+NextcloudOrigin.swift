import Bytes
import Envelope
import ServerCrypto
import StatusCrypto

extension SharedStore {
    package func originUserKey(of user: String) async throws -> [UInt8]? {
        try await reading { [sealing] in try $0.userKey(of: user, sealing) }
    }

    package func addOriginUserKey(_ sealed: [UInt8], of user: String) async throws -> [UInt8] {
        try await writing { transaction in
            let secrets = try transaction.sealing.seal([sealed], in: .originKey(of: user))
            try transaction.database.add(
                "INSERT INTO nextcloud_origin_key (\(Reading.dialect.user), secrets) VALUES ($1, $2) ON CONFLICT DO NOTHING", user,
                secrets)
            return try transaction.database.userKey(of: user, transaction.sealing) ?? sealed
        }
    }

    package func originDevices(of user: String) async throws -> [OriginDevice] {
        try await reading { try $0.originDevices(of: user) }
    }

    package func changeOriginDevices<Result: Sendable>(
        of user: String, _ decide: @escaping @Sendable ([OriginDevice]) -> (OriginChange, Result)
    ) async throws -> Result {
        try await writing { transaction in
            let database = transaction.database
            let (change, result) = decide(try database.originDevices(of: user))
            for tokenID in change.removed {
                guard let device = try database.originDevice(of: user, tokenID) else { continue }
                try database.removeOriginDevice(device)
            }
            if let device = change.put { try database.put(device) }
            return result
        }
    }

    package func finishOriginPushes(_ finished: [WaitingOriginPush], unknown: Set<String>) async throws {
        try await writing { transaction in
            let database = transaction.database
            for push in finished {
                try database.add("DELETE FROM nextcloud_origin_push WHERE id = $1", push.id)
                guard unknown.contains(push.deviceIdentifier) else { continue }
                let same = try database.all(
                    "SELECT id FROM nextcloud_origin_device WHERE id = $1 AND push_token_hash = $2", push.device, push.pushTokenHash
                ) { try $0.next(Int64.self) }
                if !same.isEmpty { try database.removeOriginDevice(push.device) }
            }
        }
    }
}

extension SQLDatabase {
    fileprivate func userKey(of user: String, _ sealing: RowSealing) throws -> [UInt8]? {
        try first("SELECT secrets FROM nextcloud_origin_key WHERE \(Self.dialect.user) = $1", user) { row in
            try row.next(sealing, in: .originKey(of: user)) ?? []
        }
    }

    fileprivate func put(_ device: OriginDevice) throws {
        let user = Self.dialect.user
        try add(
            """
            INSERT INTO nextcloud_origin_device (
                \(user), token_id, identifier, public_key, push_token_hash, proxy, app_type, last_seen, created_at)
            VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
            ON CONFLICT (\(user), token_id) DO UPDATE SET
                identifier = excluded.identifier, public_key = excluded.public_key, push_token_hash = excluded.push_token_hash,
                proxy = excluded.proxy, app_type = excluded.app_type, last_seen = excluded.last_seen, created_at = excluded.created_at
            """,
            device.user, device.tokenID, device.identifier, device.publicKey.der, device.pushTokenHash, device.proxy,
            device.appType.rawValue, device.lastSeen, device.createdAt)
        guard let id = try originDevice(of: device.user, device.tokenID) else { return }
        try add("UPDATE nextcloud_origin_push SET proxy = $1 WHERE device = $2", device.proxy, id)
    }

    fileprivate func removeOriginDevice(_ id: Int64) throws {
        try add("DELETE FROM nextcloud_origin_push WHERE device = $1", id)
        try add("DELETE FROM nextcloud_origin_device WHERE id = $1", id)
    }

    fileprivate func originDevice(of user: String, _ tokenID: Int64) throws -> Int64? {
        try first("SELECT id FROM nextcloud_origin_device WHERE \(Self.dialect.user) = $1 AND token_id = $2", user, tokenID) {
            try $0.next()
        }
    }

    fileprivate func originDevices(of user: String) throws -> [OriginDevice] {
        try all(
            """
            SELECT token_id, identifier, public_key, push_token_hash, proxy, app_type, last_seen, created_at FROM nextcloud_origin_device
            WHERE \(Self.dialect.user) = $1 ORDER BY token_id
            """,
            user
        ) { row in
            let (tokenID, identifier): (Int64, String) = (try row.next(), try row.next())
            guard let publicKey = RSAPublicKey(stored: try row.next()) else { throw StoreError.damaged }
            let (hash, proxy): (String, String) = (try row.next(), try row.next())
            guard let appType = AppType(rawValue: try row.next()) else { throw StoreError.damaged }
            return OriginDevice(
                user: user, tokenID: tokenID, identifier: identifier, publicKey: publicKey, pushTokenHash: hash, proxy: proxy,
                appType: appType, lastSeen: try row.next(), createdAt: try row.next())
        }
    }
}
