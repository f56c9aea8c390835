import Glibc
import Store

/// A lock that prevents two servers from using the same database, because each would decide from its own memory what the other changes.
///
/// The lock is on the file itself, whatever path or link leads there, and a second one on its folder: users of databases share it, and a
/// command that puts another file in the place of a database needs it alone. The operating system releases both when the process exits.
/// They use flock(2), which does not conflict with SQLite's fcntl(2) locks.
package final class InstanceLock: Sendable {
    private let descriptor: Int32
    private let folder: Int32
    private let path: String
    private let hasCreatedFile: Bool

    /// Creates the file if it does not exist. Release the lock after closing the database: closing any descriptor of a file drops the locks
    /// that SQLite has on it.
    ///
    /// - Parameter replaces: Whether another file will take the place of the database.
    /// - Throws: `InstanceLockError` if another process holds it, `StoreError` if the file cannot be created or opened.
    package init(database path: String, replaces: Bool = false) throws {
        self.path = path
        hasCreatedFile = unsafe access(path, F_OK) != 0
        try DatabaseFile.prepare(path: path)
        let slash = path.lastIndex(of: "/")
        let folderPath = slash.map { String(path[...$0]) } ?? "."
        folder = unsafe open(folderPath, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard folder >= 0 else { throw StoreError.inaccessible(errno: errno) }
        guard flock(folder, (replaces ? LOCK_EX : LOCK_SH) | LOCK_NB) == 0 else {
            close(folder)
            throw InstanceLockError(
                description: replaces
                    ? "another process uses a database in \(folderPath), where a file is about to be replaced"
                    : "pushctl is replacing a database in \(folderPath)")
        }
        descriptor = unsafe open(path, O_RDWR | O_CLOEXEC)
        guard descriptor >= 0 else {
            close(folder)
            throw StoreError.inaccessible(errno: errno)
        }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            close(descriptor)
            close(folder)
            throw InstanceLockError(
                description: "another process, a server or pushctl, uses the database \(path), which only one may use at a time")
        }
    }

    deinit {
        close(descriptor)
        close(folder)
    }

    /// Removes the file if this lock created it and it is still empty: a tool that refused its input leaves nothing behind.
    package func removeEmptyFile() {
        var status = stat()
        guard hasCreatedFile, unsafe fstat(descriptor, &status) == 0, status.st_size == 0, status.st_nlink == 1 else { return }
        unsafe unlink(path)
    }
}

/// The error when another process uses the database.
package struct InstanceLockError: Error, CustomStringConvertible {
    package let description: String
}
