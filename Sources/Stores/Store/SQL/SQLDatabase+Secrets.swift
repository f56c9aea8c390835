package import Bytes
package import ServerCrypto
import StatusCrypto

extension SQLDatabase {
    /// Reads the secret of the database and checks the keys.
    ///
    /// - Parameter keys: The sealing keys, or nil without a sealing key file.
    package func secrets(identity: FixedBytes<33>, keys: SealingKeys?, isReadOnly: Bool) throws -> DatabaseSecrets {
        try DatabaseSecrets(stored: storedSecrets(), identity: identity, keys: keys, isReadOnly: isReadOnly)
    }

    package func storedSecrets() throws -> [StoredSecret] {
        try all("SELECT key_id, secret FROM sealing_key ORDER BY key_id") { row in
            guard let id = UInt8(exactly: try row.next(Int64.self)) else { throw StoreError.damaged }
            return StoredSecret(keyID: id, sealed: try row.next())
        }
    }

    package func insert(_ secret: StoredSecret) throws {
        try add("INSERT INTO sealing_key (key_id, secret) VALUES ($1, $2)", Int64(secret.keyID), secret.sealed)
    }
}
