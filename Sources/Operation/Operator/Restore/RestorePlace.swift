import Foundation
import SQLiteStore
import ServerFiles

/// Where a backup becomes a database: a file in a folder beside the database's place, under the database's lock.
struct RestorePlace: Sendable {
    let copy: PreparedFile
    /// The file of ``copy``, still empty.
    let file: FileHandle
    private let lock: InstanceLock
    private let folder: PlainCopyFolder

    /// - Throws: ``Failure`` if the database exists, `InstanceLockError` if a server runs, and `StoreError`.
    init(for database: String) throws {
        try PreparedFile.checkThatPlaceIsFree(database)
        // The lock prevents a server from starting on the database meanwhile.
        lock = try InstanceLock(database: database, replaces: true)
        var made: PlainCopyFolder?
        do {
            PlainCopyFolder.removeLeftovers(besideDatabase: database)
            folder = try PlainCopyFolder(besideDatabase: database)
            made = folder
            copy = PreparedFile("restored.sqlite", in: folder, for: database)
            file = try copy.create()
        } catch {
            made?.remove()
            lock.removeEmptyFile()
            throw error
        }
    }

    /// Removes what is left: the folder, and an empty database that only held the lock.
    func remove() {
        folder.remove()
        lock.removeEmptyFile()
    }
}
