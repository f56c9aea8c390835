package import Bytes
import CLibCrypto

/// PBKDF2 with HMAC-SHA256, RFC 8018 §5.2.
package enum PBKDF2 {
    /// Derives a key. The function is slow by design: 65,356 iterations take about 13 ms of a core.
    ///
    /// - Parameter iterations: The number of iterations, at least 1.
    /// - Returns: The key, 32 bytes.
    package static func sha256(password: String, salt: [UInt8] = [], iterations: Int32) -> SymmetricKey {
        var key = FixedBytes<32>()
        defer { key.wipe() }
        unsafe key.withUnsafeMutablePointer { key in
            unsafe salt.span.withUnsafePointer { saltBytes in
                unsafe LibCrypto.require(
                    PKCS5_PBKDF2_HMAC(
                        password, Int32(password.utf8.count), saltBytes, Int32(salt.count), iterations, LibCrypto.sha256, 32, key))
            }
        }
        return SymmetricKey(key)
    }
}
