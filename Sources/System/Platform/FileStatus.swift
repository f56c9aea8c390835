#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#elseif canImport(Android)
    import Android
#else
    import Glibc
#endif

/// What the system knows of a file.
package struct FileStatus: Sendable {
    /// What no other file on the machine has as long as this one exists, and when its content was written, because a later file may get the
    /// same number.
    package struct Identity: Hashable, Sendable {
        fileprivate let device: UInt64
        fileprivate let number: UInt64
        fileprivate let writtenAt: [Int]
    }

    package var identity: Identity
    package var isRegularFile: Bool
    /// The permissions: the lowest 9 bits of the mode.
    package var permissions: UInt32
    package var byteCount: Int

    /// - Returns: Nil if the system does not tell.
    package init?(descriptor: Int32) {
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0 else { return nil }
        self.init(status)
    }

    /// - Returns: Nil if there is no such file, or the system does not tell.
    package init?(path: String) {
        var status = stat()
        guard unsafe stat(path, &status) == 0 else { return nil }
        self.init(status)
    }

    private init(_ status: stat) {
        #if canImport(Darwin)
            let writtenAt = status.st_mtimespec
        #else
            let writtenAt = status.st_mtim
        #endif
        identity = Identity(
            device: UInt64(truncatingIfNeeded: status.st_dev), number: UInt64(truncatingIfNeeded: status.st_ino),
            writtenAt: [Int(writtenAt.tv_sec), Int(writtenAt.tv_nsec)])
        isRegularFile = status.st_mode & S_IFMT == S_IFREG
        permissions = UInt32(status.st_mode & 0o777)
        byteCount = Int(status.st_size)
    }
}
