import Foundation
import Platform

/// A small file that only its owner may read: mode 0600, or a credential that systemd has put there for the service.
package struct PrivateFile: Sendable {
    package let path: String
    /// Whether the file is below `$CREDENTIALS_DIRECTORY`, or is the credential of a running unit, which root may read. systemd controls
    /// who may read it there, and its mode may differ because of an access control list (systemd.exec(5), "CREDENTIALS").
    package let isCredential: Bool
    private let sync: @Sendable (Int32) -> Int32

    /// More than any key or list of headers needs.
    private static let maximumByteCount = 64 << 10

    /// - Parameter sync: `fsync`, or a test's observer of it.
    package init(
        path: String, environment: [String: String] = ProcessInfo.processInfo.environment,
        sync: @escaping @Sendable (Int32) -> Int32 = { fsync($0) }
    ) {
        self.path = path
        self.sync = sync
        let folder = environment["CREDENTIALS_DIRECTORY"].map { Self.withoutSlash($0[...]) } ?? ""
        let own = Self.folder(of: path)
        isCredential = !folder.isEmpty && folder == own || own.hasPrefix("/run/credentials/")
    }

    /// Why a credential that does not exist is an error: only the service manager creates it.
    var missingCredential: String {
        let name = path.split(separator: "/").last ?? ""
        return "credential \(name) not found in $CREDENTIALS_DIRECTORY; add LoadCredential= or LoadCredentialEncrypted= to the unit"
    }

    /// - Returns: The bytes, which the caller wipes if they are secret, or nil if the file does not exist.
    package func read() throws(PrivateFileError) -> [UInt8]? {
        let descriptor: Int32
        do {
            descriptor = try RegularFile.open(path)
        } catch .inaccessible(ENOENT) {
            return nil
        } catch .inaccessible(let errno) {
            throw .init("it cannot be read", errno: errno)
        } catch {
            throw .init(error.description)
        }
        defer { close(descriptor) }
        guard let status = FileStatus(descriptor: descriptor) else { throw .init("it cannot be read", errno: errno) }
        guard isCredential || status.permissions & 0o077 == 0 else {
            let mode = "0" + String(status.permissions, radix: 8)
            throw .init("its permissions are too open (\(mode)); run: chmod 600 \(path)")
        }
        // The buffer has its final size, because growing it would leave copies of the secret in memory.
        var bytes = [UInt8](repeating: 0, count: min(status.byteCount, Self.maximumByteCount))
        var count = 0
        while count < bytes.count {
            let readCount = unsafe bytes.withUnsafeMutableBytes { buffer in
                unsafe Glibc.read(descriptor, buffer.baseAddress.map { unsafe $0 + count }, buffer.count - count)
            }
            guard readCount >= 0 || errno == EINTR else { throw .init("it cannot be read", errno: errno) }
            if readCount == 0 { break }
            count += max(0, readCount)
        }
        bytes.removeLast(bytes.count - count)
        return bytes
    }

    /// Creates the file's folder for its owner only, if it does not exist.
    package func makeFolder() throws(PrivateFileError) {
        do {
            try FileManager.default.createDirectory(
                at: URL(filePath: path).deletingLastPathComponent(), withIntermediateDirectories: true,
                attributes: [.posixPermissions: 0o700])
        } catch {
            let code = (error as? CocoaError)?.code
            throw .init(
                "its folder cannot be created: \(error.localizedDescription)",
                isTemporary: code == .fileWriteOutOfSpace || code == .fileWriteVolumeReadOnly)
        }
    }

    /// Writes the whole file or none of it, in an existing folder. A file that was written survives a power cut.
    ///
    /// - Parameter replaces: Whether to replace an existing file. Otherwise it stays, and nothing is written.
    package func write(_ bytes: [UInt8], replaces: Bool) throws(PrivateFileError) {
        let temporary = TemporaryName.next(beside: path)
        let descriptor = unsafe open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw .init("it cannot be created", errno: errno) }
        defer { unsafe unlink(temporary) }
        let written = unsafe Glibc.write(descriptor, bytes, bytes.count)
        let isSynced = sync(descriptor) == 0
        close(descriptor)
        guard written == bytes.count, isSynced else { throw .init("it cannot be written", errno: errno) }
        let isNamed = unsafe replaces ? rename(temporary, path) == 0 : link(temporary, path) == 0 || errno == EEXIST
        guard isNamed else { throw .init("it cannot be created", errno: errno) }
        try syncFolder()
    }

    /// Without this, a power cut could lose the file's name although its bytes are on the disk.
    private func syncFolder() throws(PrivateFileError) {
        let descriptor = unsafe open(Self.folder(of: path), O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { throw .init("its folder cannot be opened", errno: errno) }
        defer { close(descriptor) }
        guard sync(descriptor) == 0 else { throw .init("its folder cannot be written", errno: errno) }
    }

    static func folder(of path: String) -> String {
        guard let slash = path.lastIndex(of: "/") else { return "." }
        return slash == path.startIndex ? "/" : withoutSlash(path[..<slash])
    }

    private static func withoutSlash(_ path: Substring) -> String {
        String(path.count > 1 && path.hasSuffix("/") ? path.dropLast() : path)
    }
}

/// Why a private file cannot be used, as a message for its owner. It never includes the content.
package struct PrivateFileError: FileError, CustomStringConvertible {
    package let description: String
    package let isTemporary: Bool

    init(_ description: String, isTemporary: Bool = false) { (self.description, self.isTemporary) = (description, isTemporary) }

    init(_ reason: String, errno: Int32) {
        self.init("\(reason): \(FileFault.text(errno))", isTemporary: FileFault.isTemporary(errno))
    }
}

/// An error of a file that a server needs.
package protocol FileError: Error {
    /// Whether another try is worth it (`FileFault`).
    var isTemporary: Bool { get }
}
