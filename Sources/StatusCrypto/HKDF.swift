/// HKDF with SHA-256 and without salt, RFC 5869.
package enum HKDF {
    /// Derives a key for one purpose. Keys of different purposes are independent of each other.
    ///
    /// - Parameter purpose: The `info` of the RFC.
    /// - Returns: The first 32 bytes of the output.
    package static func sha256(_ secret: Span<UInt8>, purpose: String) -> FixedBytes<32> {
        var extracted = HMACSHA256.authenticationCode(for: secret, key: FixedBytes())
        defer { extracted.wipe() }
        let info = Array(purpose.utf8) + [1]
        return HMACSHA256.authenticationCode(for: info.span, key: extracted)
    }
}
