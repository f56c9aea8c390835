package import Bytes
import GRDB
package import Store

extension SQLiteStore {
    /// Reads the identity that a database belongs to, without creating or changing it.
    ///
    /// - Returns: The compressed public key, or nil if the file does not exist or has no tables yet.
    /// - Throws: `StoreError` if the file cannot be read, belongs to another program, or is marked as moved.
    package static func identity(ofDatabaseAt path: String) throws(StoreError) -> FixedBytes<33>? {
        do throws(StoreError) {
            try DatabaseFile.find(path: path)
        } catch .notSetUp {
            return nil
        }
        do {
            var configuration = Configuration()
            configuration.readonly = true
            // The last process that closes the database locks it for a moment.
            configuration.busyMode = .timeout(busyTimeoutSeconds)
            return try DatabaseQueue(path: path, configuration: configuration).read { database in
                guard try Schema.hasTables(database) else { return nil }
                guard try Schema.isOurs(database) else { throw StoreError.notADatabase }
                if let place = try MoveMark.place(database) { throw StoreError.moved(to: place) }
                return try database.first("SELECT public_key FROM identity", read: { try $0.next(FixedBytes<33>.self) })
            }
        } catch {
            throw StoreError(error)
        }
    }
}
