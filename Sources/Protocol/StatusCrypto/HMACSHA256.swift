package import Bytes
import CryptoLibrary

/// HMAC-SHA256, RFC 2104.
package enum HMACSHA256 {
    /// Returns the whole code, 32 bytes. Compare it with `ConstantTime`.
    package static func authenticationCode(for bytes: Span<UInt8>, key: FixedBytes<32>) -> FixedBytes<32> {
        authenticationCode(for: bytes, key: key.span)
    }

    /// Returns the whole code, 32 bytes, for a key of any length but zero.
    package static func authenticationCode(for bytes: Span<UInt8>, key: Span<UInt8>) -> FixedBytes<32> {
        var code = FixedBytes<32>()
        unsafe code.withUnsafeMutablePointer { code in
            unsafe key.withUnsafePointer { start in
                unsafe bytes.withUnsafePointer {
                    unsafe CryptoLibrary.hmacSHA256(of: $0, count: bytes.count, key: start, keyCount: key.count, into: code)
                }
            }
        }
        return code
    }
}
