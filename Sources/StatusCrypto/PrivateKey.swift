import CSecp256k1

/// Bytes that are no private key: zero, or not below the order of the group.
package struct InvalidPrivateKey: Error, Equatable {}

/// A scalar of secp256k1 and its public key. Wiped when the last reference goes; never printed.
package final class PrivateKey: Sendable {
    /// Computed once.
    package let publicKey: PublicKey
    private let scalar: SecretBytes

    /// - Parameter bytes: a big-endian number from 1 to the order − 1. The caller's copy is the caller's to forget.
    package init(_ bytes: FixedBytes<32>) throws(InvalidPrivateKey) {
        var point = secp256k1_pubkey()
        let isKey = unsafe bytes.span.withUnsafePointer {
            unsafe secp256k1_ec_pubkey_create(Secp256k1.context, &point, $0)
        }
        guard isKey == 1 else { throw InvalidPrivateKey() }
        publicKey = PublicKey(point)
        scalar = SecretBytes(bytes)
    }

    /// Draws until the bytes are a key: the first ones are, but for one in 2^128.
    @specialized(where Random == SecureRandom)
    package static func generate<Random: RandomNumberGenerator>(using random: inout Random) -> PrivateKey {
        while true {
            var bytes: FixedBytes<32> = random.fixedBytes()
            defer { bytes.wipe() }
            if let key = try? PrivateKey(bytes) { return key }
        }
    }

    /// Lends the 32 bytes, big-endian: for the key file, and nothing else.
    package func withExposedBytes<Result: ~Copyable, Failure: Error>(
        _ body: (Span<UInt8>) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try scalar.withExposedBytes(body)
    }

    /// Signs recoverably and deterministically (RFC 6979, low s).
    package func sign(_ digest: Digest32) -> Signature {
        var signature = secp256k1_ecdsa_recoverable_signature()
        var recoveryID: Int32 = 0
        var compact = FixedBytes<64>()
        // Fails only for an invalid scalar, which the initialiser excludes, or when the nonce function gives up, which RFC 6979's never
        // does.
        let isSigned = scalar.withExposedBytes { scalar in
            unsafe digest.span.withUnsafePointer { digest in
                unsafe scalar.withUnsafePointer { scalar in
                    unsafe secp256k1_ecdsa_sign_recoverable(
                        Secp256k1.context, &signature, digest, scalar, nil, nil)
                }
            }
        }
        precondition(isSigned == 1)
        // Returns 1 always (secp256k1_recovery.h).
        _ = unsafe compact.withUnsafeMutablePointer {
            unsafe secp256k1_ecdsa_recoverable_signature_serialize_compact(Secp256k1.context, $0, &recoveryID, &signature)
        }
        // 2 and 3 would say that the nonce's X exceeded the order of the group: one in 2^127.
        return Signature(compact, v: UInt8(truncatingIfNeeded: recoveryID))
    }

    /// The big-endian X coordinate of the common point, unhashed (PROTOCOL.md §1), in constant time.
    package func sharedSecret(with other: PublicKey) -> SymmetricKey {
        var point = other.point
        var x = FixedBytes<32>()
        // Fails only for an invalid scalar, which the initialiser excludes.
        let isComputed = scalar.withExposedBytes { scalar in
            unsafe x.withUnsafeMutablePointer { x in
                unsafe scalar.withUnsafePointer { scalar in
                    unsafe secp256k1_ecdh(Secp256k1.context, x, &point, scalar, copyX, nil)
                }
            }
        }
        precondition(isComputed == 1)
        defer { x.wipe() }
        return SymmetricKey(x)
    }
}

/// In place of the library's default, which would hash the point.
private let copyX: secp256k1_ecdh_hash_function = { output, x, _, _ in
    guard let output = unsafe output, let x = unsafe x else { return 0 }
    unsafe output.update(from: x, count: 32)
    return 1
}

extension PrivateKey: CustomStringConvertible, CustomReflectable {
    package var description: String { "<private key of \(publicKey)>" }
    package var customMirror: Mirror { Mirror(self, children: []) }
}
