import Glibc
package import Store

/// The database holds device tokens: nobody but the server's user may read it.
package enum DatabaseFile {
    /// Creates the file and its folder before SQLite, which gives the WAL and the shared memory the mode of the file
    /// (https://www.sqlite.org/src/doc/trunk/src/os_unix.c, `findCreateFileMode`). Narrows the mode of what is there already.
    package static func prepare(path: String) throws(StoreError) {
        if unsafe access(path, F_OK) == 0 {
            // Uses the path: closing a descriptor of the file would drop the locks that SQLite holds on it in this process.
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

    /// For reading only, the file must be there.
    static func find(path: String) throws(StoreError) {
        guard unsafe access(path, R_OK) != 0 else { return }
        throw errno == ENOENT ? .notSetUp : .inaccessible(errno: errno)
    }
}
