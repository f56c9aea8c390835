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

    /// Stores a new database's secret, or starts the rotation to a new key.
    func prepare(_ database: Database, random: inout some RandomNumberGenerator, logger: Logger) throws {
        switch try SealingChange(
            stored: database.storedSecrets(), identity: identity, keys: keys, newSecret: random.fixedBytes())
        {
        case .start(let secret):
            try database.insert(secret)
            try database.run(
                "INSERT INTO sealing (id, key_id, step, position, needs_compaction) VALUES (1, ?, ?, 0, 0)", Int64(keys.newest),
                ResealingStep.done)
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
}
