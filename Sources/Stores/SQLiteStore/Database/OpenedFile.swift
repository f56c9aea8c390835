import Glibc
import Store
import Synchronization

/// The database's file and its WAL, as they were opened. A server writes on into a file that was moved or deleted, and would lose what it
/// answers with success.
///
/// Paths are only looked at, never opened: closing a descriptor of a file drops the locks that SQLite has on it.
final class OpenedFile: Sendable {
    private struct Identity: Equatable {
        let device: UInt64
        let number: UInt64

        init?(_ path: String) {
            var status = stat()
            guard unsafe stat(path, &status) == 0 else { return nil }
            (device, number) = (UInt64(status.st_dev), UInt64(status.st_ino))
        }
    }

    private let path: String
    private let database: Identity?
    /// The WAL's identity since the first commit.
    private let log = Mutex<Identity?>(nil)
    /// The path that no longer leads to the opened file, once that was noticed.
    private let lost = Mutex<String?>(nil)

    /// - Parameter path: The file that the connection has just opened.
    init(_ path: String) {
        self.path = path
        database = Identity(path)
    }

    /// Checks that both paths lead to the files that were opened. Once they did not, the check fails until the store is opened again.
    ///
    /// - Throws: `StoreError.fileLost`.
    func check() throws(StoreError) {
        let lost = lost.withLock { lost in
            lost = lost ?? find()
            return lost
        }
        if let lost { throw .fileLost(path: lost) }
    }

    private func find() -> String? {
        guard let now = Identity(path), now == database else { return path }
        let logPath = path + "-wal"
        let current = Identity(logPath)
        return log.withLock { log in
            guard let known = log else {
                log = current
                return nil
            }
            return current == known ? nil : logPath
        }
    }
}
