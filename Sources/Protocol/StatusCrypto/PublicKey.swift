package import Bytes
import CSecp256k1

/// The error for bytes that are not a public key.
package struct InvalidPublicKey: Error, Equatable {}

/// A point of secp256k1.
package struct PublicKey: Hashable, Sendable {
    /// The uncompressed key `04‖X‖Y`, as RFC 26 writes it and as Status message ids begin (PROTOCOL.md §1 and §5).
    package let uncompressed: FixedBytes<65>

    /// - Parameter bytes: The key as `04‖X‖Y`, 65 bytes. Other prefixes are rejected (PROTOCOL.md §3).
    package init(uncompressed bytes: some Collection<UInt8>) throws(InvalidPublicKey) {
        guard let encoded = FixedBytes<65>(bytes) else { throw InvalidPublicKey() }
        try self.init(uncompressed: encoded)
    }

    /// - Parameter encoded: The key as `04‖X‖Y`.
    package init(uncompressed encoded: FixedBytes<65>) throws(InvalidPublicKey) {
        guard encoded[0] == 0x04, secp256k1_pubkey(parsing: encoded.span) != nil else { throw InvalidPublicKey() }
        uncompressed = encoded
    }

    /// - Parameter bytes: The key as `02‖X` or `03‖X`, 33 bytes.
    package init(compressed bytes: some Collection<UInt8>) throws(InvalidPublicKey) {
        guard let encoded = FixedBytes<33>(bytes) else { throw InvalidPublicKey() }
        try self.init(compressed: encoded)
    }

    /// - Parameter encoded: The key as `02‖X` or `03‖X`.
    package init(compressed encoded: FixedBytes<33>) throws(InvalidPublicKey) {
        guard let point = secp256k1_pubkey(parsing: encoded.span) else { throw InvalidPublicKey() }
        self.init(point)
    }

    init(_ point: secp256k1_pubkey) {
        uncompressed = point.uncompressed
    }

    /// The compressed key `02‖X` or `03‖X`, by the parity of Y, as grants and hashes use it.
    package var compressed: FixedBytes<33> {
        var bytes = FixedBytes<33>()
        bytes[0] = uncompressed[64] & 1 == 0 ? 0x02 : 0x03
        for index in 1...32 { bytes[index] = uncompressed[index] }
        return bytes
    }

    /// The big-endian X coordinate.
    package var x: FixedBytes<32> {
        var bytes = FixedBytes<32>()
        for index in 0..<32 { bytes[index] = uncompressed[index + 1] }
        return bytes
    }

    /// The shake256 of the compressed key, which names the key in queries, push requests and reports (PROTOCOL.md §1).
    package var hash: Digest64 { Keccak.shake256(compressed.span) }

    /// The key in the library's form. The bytes were verified as a point when this value was created.
    var point: secp256k1_pubkey {
        guard let point = secp256k1_pubkey(parsing: uncompressed.span) else { preconditionFailure("a public key is a point") }
        return point
    }
}

extension PublicKey: CustomStringConvertible {
    /// The compressed key in hex.
    package var description: String { compressed.description }
}
