package import Bytes
import Logging
import StatusCrypto

/// Finds a server's identity: the key in the key file, and the public key that the database belongs to.
///
/// Clients register with the public key. A new key for another identity's database would be an address without clients, so a key is only
/// created if neither exists.
enum ServerIdentity {
    /// Reads the key file, or creates it if the database does not belong to an identity either.
    ///
    /// - Parameter logger: Gets a line for a new key and for a new database, or nil for none.
    /// - Throws: ``MissingKeyError`` when the database belongs to an identity and the key file does not exist. `KeyFileError` or
    ///   `StoreError` when either cannot be used.
    static func loadOrCreate(_ files: ServerFiles, logger: Logger?) throws -> PrivateKey {
        let file = KeyFile(path: files.identityKeyFile)
        let owner = try files.database.owner()
        if let key = try file.load() {
            if owner == nil {
                logger?.warning(
                    "the identity key exists, its database does not: starting with an empty database",
                    metadata: ["keyFile": "\(file.path)", "database": "\(files.database.name)"])
            }
            return key
        }
        if let owner { throw MissingKeyError(keyFile: file.path, database: files.database.name, owner: owner) }
        let key = try file.loadOrCreate()
        logger?.warning(
            "created a new identity key: clients register with its public key, so keep a backup of the file",
            metadata: ["keyFile": "\(file.path)", "publicKey": "\(Hex.encode(key.publicKey.uncompressed.bytes, prefix: "0x"))"])
        return key
    }
}

/// The key file does not exist, but the database belongs to an identity.
package struct MissingKeyError: Error, CustomStringConvertible {
    package let keyFile: String
    package let database: String
    package let owner: FixedBytes<33>

    package var description: String {
        """
        key file \(keyFile): the file does not exist, but the database \(database) belongs to the identity \
        \(Hex.encode(owner.bytes, prefix: "0x")). Restore the key file from its backup, or load the credential that holds it. For a new \
        server, name another database with storage.path or storage.url
        """
    }
}
