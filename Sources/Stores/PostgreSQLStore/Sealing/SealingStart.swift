import Bytes
import Logging
import ServerCrypto
import StatusCrypto
import Store

/// Prepares a database for its sealing keys at the start, in a transaction that changes no row with secrets.
struct SealingStart {
    let identity: FixedBytes<33>
    let keys: SealingKeys

    /// Stores a new database's secret, or starts the rotation to a new key.
    func prepare(_ database: Transaction, newSecret: FixedBytes<32>, logger: Logger) throws {
        switch try SealingChange(stored: database.storedSecrets(), identity: identity, keys: keys, newSecret: newSecret) {
        case .start(let secret):
            try database.insert(secret)
            database.add(
                "INSERT INTO sealing (id, key_id, step, position) VALUES (1, $1, $2, '')", Int64(keys.newest), ResealingStep.done)
        case .rotate(let secret):
            if let secret { try database.insert(secret) }
            let changedCount = try database.run(
                "UPDATE sealing SET key_id = $1, step = \(ResealingStep.first.rawValue), position = '' WHERE key_id <> $1",
                Int64(keys.newest))
            if changedCount > 0 {
                logger.notice("rotating the sealing key; re-sealing the database", metadata: ["newKey": "\(keys.newest)"])
            }
        }
    }
}
