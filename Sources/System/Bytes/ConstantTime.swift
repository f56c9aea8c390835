import CryptoLibrary

/// Comparison of secrets: access tokens, MACs, recovered keys (PROTOCOL.md §1).
package enum ConstantTime {
    /// Compares in a time that does not depend on the position of a difference. The length may leak.
    package static func equal(_ left: Span<UInt8>, _ right: Span<UInt8>) -> Bool {
        guard left.count == right.count else { return false }
        return unsafe left.withUnsafeBytes { left in
            unsafe right.withUnsafeBytes { right in
                unsafe CryptoLibrary.areEqual(left.baseAddress, right.baseAddress, count: left.count)
            }
        }
    }

    /// Compares texts (`utf8`) or arrays in the same way.
    package static func equal(_ left: some Collection<UInt8>, _ right: some Collection<UInt8>) -> Bool {
        equal([UInt8](left).span, [UInt8](right).span)
    }
}
