import Glibc
import Platform
package import Store

/// The database file. It contains device tokens, so only the server's user may read it.
package enum DatabaseFile {
    /// Creates the file with mode 0600, and its folder with 0700. Sets the mode of existing files to 0600.
    ///
    /// SQLite gives the WAL and the shared memory the mode of the file (https://www.sqlite.org/src/doc/trunk/src/os_unix.c,
    /// `findCreateFileMode`), so the file must exist before SQLite opens it.
    ///
    /// - Throws: `StoreError.inaccessible`, or `StoreError.notADatabase` if the path leads to no regular file.
    package static func prepare(path: String) throws(StoreError) {
        try checkThatItIsRegular(path)
        if unsafe access(path, F_OK) == 0 {
            // The path is used instead of a descriptor: closing any descriptor would drop the locks of SQLite in this process.
            for suffix in ["", "-wal", "-shm"] {
                guard unsafe chmod(path + suffix, 0o600) == 0 || errno == ENOENT else { throw .inaccessible(errno: errno) }
            }
            return
        }
        for slash in path.indices.dropFirst() where path[slash] == "/" {
            guard unsafe mkdir(String(path[..<slash]), 0o700) == 0 || errno == EEXIST else { throw .inaccessible(errno: errno) }
        }
        let descriptor = unsafe open(path, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw .inaccessible(errno: errno) }
        close(descriptor)
    }

    /// Checks that a file can be opened for reading only.
    ///
    /// - Throws: `StoreError.notSetUp` if the file does not exist, `StoreError.notADatabase` if the path leads to no regular file, else
    ///   `StoreError.inaccessible`.
    static func find(path: String) throws(StoreError) {
        guard unsafe access(path, R_OK) == 0 else { throw errno == ENOENT ? .notSetUp : .inaccessible(errno: errno) }
        try checkThatItIsRegular(path)
    }

    private static func checkThatItIsRegular(_ path: String) throws(StoreError) {
        do {
            try RegularFile.check(path)
        } catch {
            throw .notADatabase
        }
    }
}
