#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#elseif canImport(Android)
    import Android
#else
    import Glibc
#endif

/// The system's error numbers for files.
package enum FileFault {
    /// Whether the fault is the disk's and may pass, so that another try is worth it: the disk is full, read-only for the moment or broken,
    /// or too many files are open.
    package static func isTemporary(_ errno: Int32) -> Bool {
        [ENOSPC, EDQUOT, EROFS, EIO, EMFILE, ENFILE].contains(errno)
    }

    /// The system's text.
    package static func text(_ errno: Int32) -> String { unsafe String(cString: strerror(errno)) }
}
