import Bytes
import GRDB
import Logging
import ServerCrypto
import StatusCrypto
import Store

/// Prepares a database for its sealing keys at the start, in one short transaction that changes no row with secrets.
struct SealingStart {
    let identity: FixedBytes<33>
    let keys: SealingKeys
    let isNewDatabase: Bool

    /// Turns sealing on, or begins the rotation to a new key.
    func prepare(_ database: Database, random: inout some RandomNumberGenerator, logger: Logger) throws {
        let newSecret: FixedBytes<32> = random.fixedBytes()
        let change = try SealingChange(
            stored: database.storedSecrets(), identity: identity, keys: keys,
            turningOnWith: isNewDatabase ? newSecret : database.secretInClear())
        switch change {
        case .turnOn(let secret):
            try turnOn(secret, database, logger: logger)
        case .rotate(let secret):
            if let secret { try database.insert(secret) }
            let changedCount = try database.run(
                "UPDATE sealing SET key_id = ?1, step = \(ResealingStep.first.rawValue), position = 0 WHERE key_id <> ?1",
                Int64(keys.newest))
            if changedCount > 0 {
                logger.notice("rotating the sealing key; re-sealing the database", metadata: ["newKey": "\(keys.newest)"])
            }
        }
    }

    private func turnOn(_ secret: StoredSecret, _ database: Database, logger: Logger) throws {
        try database.insert(secret)
        try database.run("UPDATE identity SET list_key = x''")
        let step = isNewDatabase ? ResealingStep.done : .first
        try database.run(
            "INSERT INTO sealing (id, key_id, step, position, has_clear_rows, needs_compaction) VALUES (1, ?, ?, 0, ?, 0)",
            Int64(keys.newest), step, !isNewDatabase)
        if isNewDatabase {
            try ClearIndexes.drop(database)
        } else {
            logger.notice("sealing is on; re-sealing the database", metadata: ["key": "\(keys.newest)"])
        }
    }
}

/// The indexes on device tokens in clear.
enum ClearIndexes {
    /// Deletes the indexes, which a sealed database does not need.
    static func drop(_ database: Database) throws {
        for name in ["registration_by_token", "nextcloud_device_by_token", "nextcloud_device_by_voip_token"] {
            try database.execute(sql: "DROP INDEX \(name)")
        }
    }
}

extension Database {
    /// Returns whether rows in clear may remain, so that the indexes on device tokens in clear exist.
    func hasClearRows() throws -> Bool {
        try first("SELECT has_clear_rows FROM sealing") { try $0.next() } ?? true
    }
}
