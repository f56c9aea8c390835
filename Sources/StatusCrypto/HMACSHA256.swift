import CLibCrypto

/// HMAC-SHA256, RFC 2104.
package enum HMACSHA256 {
    /// Returns the whole code, 32 bytes. Compare it with `ConstantTime`.
    package static func authenticationCode(for bytes: Span<UInt8>, key: FixedBytes<32>) -> FixedBytes<32> {
        var code = FixedBytes<32>()
        let isComputed = unsafe code.withUnsafeMutablePointer { code in
            unsafe key.span.withUnsafePointer { key in
                unsafe bytes.withUnsafePointer { unsafe HMAC(LibCrypto.sha256, key, 32, $0, bytes.count, code, nil) != nil }
            }
        }
        LibCrypto.require(isComputed ? 1 : 0)
        return code
    }
}
