package import Bytes
import CryptoLibrary

/// PBKDF2 with HMAC-SHA256, RFC 8018 §5.2.
package enum PBKDF2 {
    /// Derives a key. The function is slow by design: 65,356 iterations keep a core busy for about 18 ms.
    ///
    /// - Parameter iterations: The number of iterations, at least 1.
    /// - Returns: The key, 32 bytes.
    package static func sha256(password: String, salt: [UInt8] = [], iterations: Int32) -> SymmetricKey {
        var key = FixedBytes<32>()
        defer { key.wipe() }
        unsafe key.withUnsafeMutablePointer { key in
            unsafe salt.span.withUnsafePointer { saltBytes in
                unsafe CryptoLibrary.pbkdf2SHA256(
                    password: password, salt: saltBytes, saltCount: salt.count, iterations: iterations, into: key)
            }
        }
        return SymmetricKey(key)
    }
}
