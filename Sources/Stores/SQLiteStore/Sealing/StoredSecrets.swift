import Bytes
import GRDB
import ServerCrypto
import StatusCrypto
import Store

extension Database {
    /// Reads the secret of the database and checks the keys.
    ///
    /// - Parameter keys: The sealing keys, or nil without a sealing key file.
    func secrets(identity: FixedBytes<33>, keys: SealingKeys?) throws -> DatabaseSecrets {
        try DatabaseSecrets(stored: storedSecrets(), identity: identity, keys: keys, isReadOnly: configuration.readonly)
    }

    func storedSecrets() throws -> [StoredSecret] {
        try all("SELECT key_id, secret FROM sealing_key ORDER BY key_id") { row in
            guard let id = UInt8(exactly: try row.next(Int64.self)) else { throw StoreError.damaged }
            return StoredSecret(keyID: id, sealed: try row.next())
        }
    }

    func insert(_ secret: StoredSecret) throws {
        try run("INSERT INTO sealing_key (key_id, secret) VALUES (?, ?)", Int64(secret.keyID), secret.sealed)
    }
}
