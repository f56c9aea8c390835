package import Bytes
import StatusCrypto

/// HKDF with SHA-256, RFC 5869, for keys of 32 bytes.
package enum HKDFSHA256 {
    /// Derives a key, without a salt.
    ///
    /// - Parameter info: The key's purpose.
    package static func deriveKey(from secret: Span<UInt8>, info: String) -> SymmetricKey {
        // RFC 5869 §2.2: without a salt, it is zeros.
        let salt = [UInt8](repeating: 0, count: 32)
        var extracted = HMACSHA256.authenticationCode(for: secret, key: salt.span)
        defer { extracted.wipe() }
        // One block, whose number is 1, has the 32 bytes (RFC 5869 §2.3).
        let block = Array(info.utf8) + [1]
        var key = HMACSHA256.authenticationCode(for: block.span, key: extracted)
        defer { key.wipe() }
        return SymmetricKey(key)
    }
}
