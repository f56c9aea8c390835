#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#elseif canImport(Android)
    import Android
#else
    import Glibc
#endif

/// A file that is locked as long as the object lives. The process's end ends the lock too.
package final class FileLock: Sendable {
    private let descriptor: Int32

    /// Locks the file, and creates it if it is missing. Only its owner may read it.
    ///
    /// - Returns: Nil if it is locked already, in this process or another.
    package init?(path: String) throws(SystemError) {
        descriptor = unsafe open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw SystemError() }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            guard errno == EWOULDBLOCK else { throw SystemError() }
            return nil
        }
    }

    deinit { close(descriptor) }
}
