package import Bytes
import CSecp256k1

/// A recoverable ECDSA signature `R‖S‖V` with V 0 or 1 (PROTOCOL.md §1). Signing creates a low s. A high s is accepted.
package struct Signature: Hashable, Sendable {
    /// The bytes `R‖S‖V`: 32, 32 and 1 bytes.
    package let bytes: FixedBytes<65>

    /// - Returns: The signature, or nil unless there are 65 bytes and V is 0 or 1. R and S may still be out of range.
    package init?(_ bytes: Span<UInt8>) {
        guard let bytes = FixedBytes<65>(bytes), bytes[64] <= 1 else { return nil }
        self.bytes = bytes
    }

    /// - Returns: The signature, or nil unless there are 65 bytes and V is 0 or 1. R and S may still be out of range.
    package init?(_ bytes: [UInt8]) {
        self.init(bytes.span)
    }

    init(_ compact: FixedBytes<64>, v: UInt8) {
        var bytes = FixedBytes<65>()
        for index in 0..<64 { bytes[index] = compact[index] }
        bytes[64] = v
        self.bytes = bytes
    }

    /// Whether a key can be recovered, without recovering it (4.5 µs instead of 34): R and S are in range and R is the X of a point
    /// (PROTOCOL.md §3). The recovery may still fail for a digest chosen to that end.
    package var isWellFormed: Bool {
        guard parsed != nil, !isZero(0..<32), !isZero(32..<64) else { return false }
        var point = FixedBytes<33>()
        point[0] = 0x02
        for index in 0..<32 { point[index + 1] = bytes[index] }
        return secp256k1_pubkey(parsing: point.span) != nil
    }

    /// Recovers the key that signed, if this is a signature over the digest: *any* well-formed signature yields some key for any digest.
    ///
    /// - Returns: The key, or nil if the recovery fails.
    package func recover(_ digest: Digest32) -> PublicKey? {
        guard var signature = parsed else { return nil }
        var point = secp256k1_pubkey()
        let isRecovered = unsafe digest.span.withUnsafePointer {
            unsafe secp256k1_ecdsa_recover(Secp256k1.context, &point, &signature, $0)
        }
        return isRecovered == 1 ? PublicKey(point) : nil
    }

    /// Whether the key signed the digest.
    package func isBy(_ key: PublicKey, _ digest: Digest32) -> Bool {
        guard let signer = recover(digest) else { return false }
        return ConstantTime.equal(signer.uncompressed.span, key.uncompressed.span)
    }

    /// The parsed signature, or nil if R or S is not below the order of the group.
    private var parsed: secp256k1_ecdsa_recoverable_signature? {
        var signature = secp256k1_ecdsa_recoverable_signature()
        let isInRange = unsafe bytes.span.withUnsafePointer {
            unsafe secp256k1_ecdsa_recoverable_signature_parse_compact(
                Secp256k1.context, &signature, $0, Int32(bytes[64]))
        }
        return isInRange == 1 ? signature : nil
    }

    private func isZero(_ range: Range<Int>) -> Bool { range.allSatisfy { bytes[$0] == 0 } }
}
