import Logging
import ServerCrypto
import StatusCrypto
import Store

/// Finds the keys that seal a server's database.
enum ServerSealing {
    /// Reads the sealing key file, or creates it for a new database.
    ///
    /// - Returns: Nil for an existing database without the file, which the store rejects.
    /// - Throws: `KeyFileError` or `StoreError` if the file or the database cannot be used.
    static func loadOrCreate(_ files: ServerFiles, logger: Logger) throws -> SealingKeys? {
        let file = SealingKeyFile(path: files.sealingKeyFile)
        if let keys = try file.load() { return keys }
        guard try files.database.owner() == nil else { return nil }
        let keys = try file.create()
        logger.warning(
            "created a new sealing key: without it the database cannot be read, so keep a backup of the file apart from the database's",
            metadata: ["keyFile": "\(file.path)"])
        return keys
    }
}
