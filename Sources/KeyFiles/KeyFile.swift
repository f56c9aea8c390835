import Foundation
package import StatusCrypto

/// A file that holds a private key: 64 hex digits, mode 0600 (INTERFACE.md, "Files"). A server's is its address for ever.
package struct KeyFile: Sendable {
    package let path: String

    /// Longer than any key with `0x` and a line end.
    private static let maximumByteCount = 128

    package init(path: String) {
        self.path = path
    }

    /// Reads the key.
    ///
    /// - Returns: nil if there is no such file.
    /// - Throws: when it cannot be read, when others may read it, or when it holds no key.
    package func load() throws(KeyFileError) -> PrivateKey? {
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            if errno == ENOENT { return nil }
            throw failure("it cannot be read: \(Self.systemError())")
        }
        let file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { throw failure("it is not a file") }
        guard status.st_mode & 0o077 == 0 else {
            throw failure("others than its owner may read or change it; its mode has to be 0600: `chmod 600` puts that right")
        }
        let data: Data
        do {
            data = try file.read(upToCount: Self.maximumByteCount) ?? Data()
        } catch {
            throw failure("it cannot be read: \(error.localizedDescription)")
        }
        let digits = String(decoding: data, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
        guard let secret = FixedBytes<32>(hex: digits.hasPrefix("0x") ? digits.dropFirst(2) : digits[...]),
            let key = try? PrivateKey(secret)
        else {
            throw failure("it does not hold a private key: 64 hex digits, neither zero nor above the order of secp256k1")
        }
        return key
    }

    /// Reads the key, or makes one, and its folder, when there is no such file.
    ///
    /// - Throws: as ``load()``, and when it cannot be written.
    package func loadOrCreate() throws(KeyFileError) -> PrivateKey {
        if let key = try load() { return key }
        do {
            try FileManager.default.createDirectory(
                at: URL(filePath: path).deletingLastPathComponent(), withIntermediateDirectories: true,
                attributes: [.posixPermissions: 0o700])
        } catch {
            throw failure("its folder cannot be made: \(error.localizedDescription)")
        }
        var random = SecureRandom()
        try create(PrivateKey.generate(using: &random))
        // Read back: another process may have been faster, and then the file decides.
        guard let key = try load() else { throw failure("it went away while it was made") }
        return key
    }

    /// Writes a file of its own and links it to the name, so that the name is never there without the whole key.
    private func create(_ key: PrivateKey) throws(KeyFileError) {
        let temporary = "\(path).\(getpid()).new"
        let descriptor = unsafe open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw failure("it cannot be made: \(Self.systemError())") }
        defer { unsafe unlink(temporary) }
        let text = key.withExposedBytes { Hex.encode([UInt8](copying: $0)) + "\n" }
        let written = unsafe write(descriptor, text, text.utf8.count)
        let isSynced = fsync(descriptor) == 0
        close(descriptor)
        guard written == text.utf8.count, isSynced else { throw failure("it cannot be written: \(Self.systemError())") }
        guard unsafe link(temporary, path) == 0 || errno == EEXIST else { throw failure("it cannot be made: \(Self.systemError())") }
    }

    private func failure(_ reason: String) -> KeyFileError {
        KeyFileError(description: "key file \(path): \(reason)")
    }

    private static func systemError() -> String {
        unsafe String(cString: strerror(errno))
    }
}

/// Why a key file cannot be used, in words for its owner; never what is in it.
package struct KeyFileError: Error, CustomStringConvertible {
    package let description: String
}
