import Bytes
import Foundation
package import Logging
package import Store

/// A folder beside a database for a copy in clear, as a restore, an import, a move and an encrypted backup need it. Its owner holds a lock,
/// which the operating system releases when the process ends. Whoever starts next removes what killed processes have left.
package final class PlainCopyFolder: Sendable {
    package let path: String
    private let descriptor: Int32

    /// Creates a folder of mode 0700.
    ///
    /// - Throws: `StoreError.inaccessible`.
    package init(besideDatabase database: String) throws(StoreError) {
        let parent = Self.parent(of: database)
        guard unsafe mkdir(parent, 0o700) == 0 || errno == EEXIST else { throw .inaccessible(errno: errno) }
        var random = SecureRandom()
        path = "\(parent)/\(Hex.encode(random.bytes(8)))"
        guard unsafe mkdir(path, 0o700) == 0 else { throw .inaccessible(errno: errno) }
        descriptor = unsafe open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
        guard descriptor >= 0 else { throw .inaccessible(errno: errno) }
        // Nobody else has the lock, unless a start has just removed the folder.
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0, unsafe access(path, F_OK) == 0 else {
            close(descriptor)
            throw .inaccessible(errno: EAGAIN)
        }
    }

    deinit { close(descriptor) }

    /// Removes the folder with all that is in it.
    package func remove() {
        try? FileManager.default.removeItem(atPath: path)
        unsafe rmdir(URL(filePath: path).deletingLastPathComponent().path(percentEncoded: false))
    }

    /// Removes what killed processes have left in clear beside a database. The caller holds the database's lock.
    package static func removeLeftovers(besideDatabase database: String, logger: Logger? = nil) {
        let parent = parent(of: database)
        for name in (try? FileManager.default.contentsOfDirectory(atPath: parent)) ?? [] {
            let descriptor = unsafe open("\(parent)/\(name)", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
            guard descriptor >= 0 else { continue }
            defer { close(descriptor) }
            guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else { continue }
            remove("\(parent)/\(name)", logger)
        }
        unsafe rmdir(parent)
        // The names of 0.2.0.
        for suffix in [".restored", ".imported", ".import-source", ".migrating"] {
            for end in ["", "-wal", "-shm", "-journal"] { remove(database + suffix + end, logger) }
        }
        TemporaryName.removeLeftovers(beside: database + ".copy")
    }

    private static func remove(_ path: String, _ logger: Logger?) {
        guard (try? FileManager.default.removeItem(atPath: path)) != nil else { return }
        logger?.notice("removed a copy in clear that a killed command left", metadata: ["file": "\(path)"])
    }

    private static func parent(of database: String) -> String { database + ".plain" }
}
