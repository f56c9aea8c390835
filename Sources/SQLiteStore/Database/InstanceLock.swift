import Glibc
import Store

/// Keeps a second server off the same database: each would decide from memory of its own what the other one changes.
///
/// The lock is on the file itself, whatever path or link leads there. It is the operating system's and ends with the process, however that
/// ends. SQLite's own locks are of another kind (flock(2) and fcntl(2)), and do not meet it.
package final class InstanceLock: Sendable {
    private let descriptor: Int32

    /// Makes the file if it is not there. To be released after the database is closed: the end of any descriptor of a file ends the locks
    /// that SQLite has on it.
    ///
    /// - Throws: `InstanceLockError` when another process holds it, `StoreError` when the file cannot be made or opened.
    package init(database path: String) throws {
        try DatabaseFile.prepare(path: path)
        descriptor = unsafe open(path, O_RDWR | O_CLOEXEC)
        guard descriptor >= 0 else { throw StoreError.inaccessible(errno: errno) }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            close(descriptor)
            throw InstanceLockError(description: "another server runs on the database \(path), and a database serves one at a time")
        }
    }

    deinit { close(descriptor) }
}

/// Another process has the database.
package struct InstanceLockError: Error, CustomStringConvertible {
    package let description: String
}
