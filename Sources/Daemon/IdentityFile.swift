import Foundation
import StatusCrypto

/// The file that holds the server's private key: 64 hex digits, mode 0600 (CONTRACT.md). The key is the server's address for ever.
enum IdentityFile {
    /// Reads the key, or makes one when there is no such file.
    ///
    /// - Throws: `IdentityFileError` when it cannot be read or written, when others may read it, or when it holds no key.
    static func loadOrCreate(_ path: String) throws(IdentityFileError) -> PrivateKey {
        if let key = try load(path) { return key }
        do {
            // Not NSString's: it traps on Linux for a name of one letter.
            try FileManager.default.createDirectory(
                at: URL(filePath: path).deletingLastPathComponent(), withIntermediateDirectories: true,
                attributes: [.posixPermissions: 0o700])
        } catch {
            throw IdentityFileError(path, "its folder cannot be made: \(error.localizedDescription)")
        }
        var random = SecureRandom()
        try create(path, key: PrivateKey.generate(using: &random))
        // Read back: another process may have been faster, and then the file decides.
        guard let key = try load(path) else { throw IdentityFileError(path, "it went away while it was made") }
        return key
    }

    /// - Returns: nil when there is no such file.
    private static func load(_ path: String) throws(IdentityFileError) -> PrivateKey? {
        guard FileManager.default.fileExists(atPath: path) else { return nil }
        let digits: String
        do {
            let attributes = try FileManager.default.attributesOfItem(atPath: path)
            guard attributes[.type] as? FileAttributeType == .typeRegular else { throw IdentityFileError(path, "it is not a file") }
            guard let mode = attributes[.posixPermissions] as? Int, mode & 0o077 == 0 else {
                throw IdentityFileError(path, "others than its owner may read or change it; expected mode 0600")
            }
            digits = try String(contentsOf: URL(filePath: path), encoding: .utf8)
        } catch let error as IdentityFileError {
            throw error
        } catch {
            throw IdentityFileError(path, "it cannot be read: \(error.localizedDescription)")
        }
        guard let secret = FixedBytes<32>(hex: digits.trimmingCharacters(in: .whitespacesAndNewlines)), let key = try? PrivateKey(secret)
        else {
            throw IdentityFileError(path, "it does not hold a private key of 64 hex digits")
        }
        return key
    }

    /// Writes a file of its own and links it to the name, so that the name is never there without the whole key.
    private static func create(_ path: String, key: PrivateKey) throws(IdentityFileError) {
        let temporary = "\(path).\(getpid()).new"
        let descriptor = unsafe open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw IdentityFileError(path, "it cannot be made: \(systemError())") }
        defer { unsafe unlink(temporary) }
        let text = key.withExposedBytes { Hex.encode([UInt8](copying: $0)) + "\n" }
        let written = unsafe write(descriptor, text, text.utf8.count)
        let isSynced = fsync(descriptor) == 0
        close(descriptor)
        guard written == text.utf8.count, isSynced else { throw IdentityFileError(path, "it cannot be written: \(systemError())") }
        guard unsafe link(temporary, path) == 0 || errno == EEXIST else {
            throw IdentityFileError(path, "it cannot be made: \(systemError())")
        }
    }

    private static func systemError() -> String {
        unsafe String(cString: strerror(errno))
    }
}

package struct IdentityFileError: Error, CustomStringConvertible {
    package let description: String

    init(_ path: String, _ reason: String) {
        description = "identity key file \(path): \(reason)"
    }
}
