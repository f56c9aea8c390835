#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#elseif canImport(Android)
    import Android
#else
    import Glibc
#endif

/// The reason of a failed system call, in the system's words.
package struct SystemError: Error, CustomStringConvertible {
    package let description: String

    /// Takes the last call's reason.
    package init() {
        description = unsafe String(cString: strerror(errno))
    }
}
