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
        isRegularFile = status.st_mode & S_IFMT == S_IFREG
        permissions = UInt32(status.st_mode & 0o777)
        byteCount = Int(status.st_size)
    }
}
