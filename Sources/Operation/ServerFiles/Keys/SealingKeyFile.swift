import Bytes
package import ServerCrypto
import StatusCrypto

/// A file with the keys that seal secrets in the database: a key per line, the newest first, mode 0600 (INTERFACE.md, "Files").
///
/// A line is a key id from 1 to 255, a space and 64 hex digits. Empty lines and lines that begin with `#` are ignored.
package struct SealingKeyFile: Sendable {
    private let file: PrivateFile

    package var path: String { file.path }

    package init(path: String) {
        self.init(PrivateFile(path: path))
    }

    package init(_ file: PrivateFile) {
        self.file = file
    }

    /// Reads the keys.
    ///
    /// - Returns: The keys, or nil if the file does not exist.
    /// - Throws: `KeyFileError` if the file cannot be read, if others may read it, or if a line is no key.
    package func load() throws(KeyFileError) -> SealingKeys? {
        guard var text = try checked({ () throws(PrivateFileError) in try file.read() }) else { return nil }
        defer { text.wipe() }
        var keys: [(id: UInt8, secret: SecretBytes)] = []
        for (index, line) in text.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).enumerated() {
            let words = line.split(whereSeparator: { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") || $0 == UInt8(ascii: "\r") })
            guard let first = words.first, first.first != UInt8(ascii: "#") else { continue }
            guard words.count == 2, let id = UInt8(String(decoding: first, as: UTF8.self)), id > 0,
                var secret = KeyFile.secret(digits: words[1])
            else { throw failure("line \(index + 1) is not a key id from 1 to 255, a space and 64 hex digits") }
            defer { secret.wipe() }
            guard !keys.contains(where: { $0.id == id }) else { throw failure("line \(index + 1) has the key id \(id) again") }
            keys.append((id, SecretBytes(secret)))
        }
        guard let sealingKeys = SealingKeys(keys) else { throw failure("it contains no key") }
        return sealingKeys
    }

    /// Creates the file with a random key whose id is 1, and the folder.
    ///
    /// - Returns: The file's keys, which another process may have written first.
    /// - Throws: `KeyFileError` if the file cannot be written. A credential is never created, because the service manager
    ///   provides it.
    package func create() throws(KeyFileError) -> SealingKeys {
        guard !file.isCredential else { throw failure(file.missingCredential) }
        var random = SecureRandom()
        var secret: FixedBytes<32> = random.fixedBytes()
        var line = Array("1 ".utf8)
        line.reserveCapacity(67)
        defer {
            secret.wipe()
            line.wipe()
        }
        Hex.append(secret.span, to: &line)
        line.append(UInt8(ascii: "\n"))
        try checked { () throws(PrivateFileError) in
            try file.makeFolder()
            try file.write(line, replaces: false)
        }
        guard let keys = try load() else { throw failure("it was deleted while it was being created") }
        return keys
    }

    private func checked<Value>(_ body: () throws(PrivateFileError) -> Value) throws(KeyFileError) -> Value {
        do {
            return try body()
        } catch {
            throw failure(error.description, isTemporary: error.isTemporary)
        }
    }

    private func failure(_ reason: String, isTemporary: Bool = false) -> KeyFileError {
        KeyFileError(description: "sealing key file \(path): \(reason)", isTemporary: isTemporary)
    }
}
