#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#elseif canImport(Android)
    import Android
#else
    import Glibc
#endif

/// A file that somebody names: a person, a setting or another file. Opening a pipe would wait for its other end without a word, and a
/// device may never end, so each must be a regular file.
package enum RegularFile {
    /// Opens a file that exists.
    ///
    /// - Returns: The descriptor, which the caller closes.
    package static func open(_ path: String, _ flags: Int32 = O_RDONLY) throws(RegularFileError) -> Int32 {
        #if canImport(Darwin)
            let descriptor = unsafe Darwin.open(path, flags | O_NONBLOCK | O_CLOEXEC)
        #elseif canImport(Musl)
            let descriptor = unsafe Musl.open(path, flags | O_NONBLOCK | O_CLOEXEC)
        #elseif canImport(Android)
            let descriptor = unsafe Android.open(path, flags | O_NONBLOCK | O_CLOEXEC)
        #else
            let descriptor = unsafe Glibc.open(path, flags | O_NONBLOCK | O_CLOEXEC)
        #endif
        guard descriptor >= 0 else { throw .inaccessible(errno: errno) }
        guard FileStatus(descriptor: descriptor)?.isRegularFile == true else {
            close(descriptor)
            throw .notRegular
        }
        return descriptor
    }

    /// Checks a file without opening it, for a library that opens it by its path. A file that does not exist passes.
    package static func check(_ path: String) throws(RegularFileError) {
        guard FileStatus(path: path)?.isRegularFile ?? true else { throw .notRegular }
    }
}

/// Why a file cannot be opened, as a message for whoever has named it.
package enum RegularFileError: Error, CustomStringConvertible {
    /// The system refuses it.
    case inaccessible(errno: Int32)
    /// It is a folder, a pipe, a socket or a device.
    case notRegular

    package var description: String {
        switch self {
        case .inaccessible(let errno): "it cannot be read: \(FileFault.text(errno))"
        case .notRegular: "it is not a regular file"
        }
    }
}
