#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#elseif canImport(Android)
    import Android
#else
    import Glibc
#endif

/// Replaces a file by another that only its owner may read. Returns after it is on the disk. After a crash the old file is there, or the
/// new one.
package func replaceFile(path: String, with bytes: RawSpan) throws(SystemError) {
    let new = path + ".new"
    // What a crash has left there may be readable for others.
    unsafe unlink(new)
    let file = unsafe open(new, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0o600)
    guard file >= 0 else { throw SystemError() }
    let isWritten = writeAll(bytes, to: file) && fsync(file) == 0
    let failure = SystemError()
    close(file)
    guard isWritten else {
        unsafe unlink(new)
        throw failure
    }
    guard unsafe rename(new, path) == 0 else { throw SystemError() }
    let folder = unsafe open(folder(of: path), O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard folder >= 0 else { throw SystemError() }
    defer { close(folder) }
    guard fsync(folder) == 0 else { throw SystemError() }
}

private func folder(of path: String) -> String {
    guard let slash = path.lastIndex(of: "/") else { return "." }
    return slash == path.startIndex ? "/" : String(path[..<slash])
}

private func writeAll(_ bytes: RawSpan, to file: Int32) -> Bool {
    unsafe bytes.withUnsafeBytes { buffer in
        var start = 0
        while start < buffer.count {
            let count = unsafe write(file, buffer.baseAddress?.advanced(by: start), buffer.count - start)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return false }
            start += count
        }
        return true
    }
}
