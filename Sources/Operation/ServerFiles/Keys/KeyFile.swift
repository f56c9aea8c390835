import Bytes
package import StatusCrypto

/// A file that holds a private key: 64 hex digits, mode 0600 (INTERFACE.md, "Files"). A server's address depends on its key permanently.
package struct KeyFile: Sendable {
    private let file: PrivateFile

    package var path: String { file.path }

    package init(path: String) {
        self.init(PrivateFile(path: path))
    }

    package init(_ file: PrivateFile) {
        self.file = file
    }

    /// Reads the key.
    ///
    /// - Returns: The key, or nil if the file does not exist.
    /// - Throws: when it cannot be read, when others may read it, or when it holds no key.
    package func load() throws(KeyFileError) -> PrivateKey? {
        guard var text = try checked({ () throws(PrivateFileError) in try file.read() }) else { return nil }
        defer { text.wipe() }
        var secret = Self.secret(in: text) ?? FixedBytes()
        defer { secret.wipe() }
        guard let key = try? PrivateKey(secret) else {
            throw failure("it does not hold a private key: 64 hex digits, neither zero nor above the order of secp256k1")
        }
        return key
    }

    /// - Parameter text: hex, with or without `0x`, and space around it.
    private static func secret(in text: [UInt8]) -> FixedBytes<32>? {
        let spaces = Set(" \t\r\n".utf8)
        var digits = text.drop(while: spaces.contains)
        while let last = digits.last, spaces.contains(last) { digits.removeLast() }
        if digits.starts(with: "0x".utf8) { digits = digits.dropFirst(2) }
        return secret(digits: digits)
    }

    /// Decodes 64 hex digits into a single buffer, which the caller wipes.
    ///
    /// - Returns: The key, or nil if the text has other bytes or another length.
    static func secret(digits: ArraySlice<UInt8>) -> FixedBytes<32>? {
        guard digits.count == 64 else { return nil }
        var secret = FixedBytes<32>()
        for index in 0..<32 {
            let place = digits.startIndex + 2 * index
            guard let high = Hex.nibble(digits[place]), let low = Hex.nibble(digits[place + 1]) else { return nil }
            secret[index] = high << 4 | low
        }
        return secret
    }

    /// Reads the key. If the file does not exist, creates a key, and the file's folder.
    ///
    /// - Throws: as ``load()``, and when it cannot be written. A credential is never created, because the service manager provides it.
    package func loadOrCreate() throws(KeyFileError) -> PrivateKey {
        if let key = try load() { return key }
        guard !file.isCredential else { throw failure(file.missingCredential) }
        var random = SecureRandom()
        return try install(.generate(using: &random))
    }

    /// Writes a key to the file, and creates its folder, unless the file exists.
    ///
    /// - Returns: The key in the file, which differs from the given key if another process has written its own first.
    /// - Throws: as ``load()``, and when the file cannot be written.
    package func install(_ key: PrivateKey) throws(KeyFileError) -> PrivateKey {
        try checked { () throws(PrivateFileError) in try file.makeFolder() }
        var new: [UInt8] = []
        new.reserveCapacity(65)
        defer { new.wipe() }
        key.withExposedBytes { Hex.append($0, to: &new) }
        new.append(UInt8(ascii: "\n"))
        try checked { () throws(PrivateFileError) in try file.write(new, replaces: false) }
        // Read back: another process may have been faster, and then the file decides.
        guard let key = try load() else { throw failure("it was deleted while it was being created") }
        return key
    }

    private func checked<Value>(_ body: () throws(PrivateFileError) -> Value) throws(KeyFileError) -> Value {
        do {
            return try body()
        } catch {
            throw failure(error.description, isTemporary: error.isTemporary)
        }
    }

    private func failure(_ reason: String, isTemporary: Bool = false) -> KeyFileError {
        KeyFileError(description: "key file \(path): \(reason)", isTemporary: isTemporary)
    }
}

/// Why a key file cannot be used, as a message for its owner. It never includes the content.
package struct KeyFileError: FileError, CustomStringConvertible {
    package let description: String
    package let isTemporary: Bool
}
