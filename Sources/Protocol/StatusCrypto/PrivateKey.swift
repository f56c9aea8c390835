package import Bytes
import CSecp256k1

/// The error for bytes that are not a private key: zero, or not below the order of the group.
package struct InvalidPrivateKey: Error, Equatable {}

/// A scalar of secp256k1 and its public key. Its memory is wiped with the last reference, and it is never printed.
package final class PrivateKey: Sendable {
    /// The public key, computed once.
    package let publicKey: PublicKey
    private let scalar: SecretBytes

    /// - Parameter bytes: A big-endian number from 1 to the order − 1. The caller must wipe its own copy.
    package init(_ bytes: FixedBytes<32>) throws(InvalidPrivateKey) {
        var point = secp256k1_pubkey()
        let isKey = unsafe bytes.span.withUnsafePointer {
            unsafe secp256k1_ec_pubkey_create(Secp256k1.context, &point, $0)
        }
        guard isKey == 1 else { throw InvalidPrivateKey() }
        publicKey = PublicKey(point)
        scalar = SecretBytes(bytes)
    }

    /// Draws random bytes until they are a key. The first draw fails once in 2^128.
    @specialized(where Random == SecureRandom)
    package static func generate<Random: RandomNumberGenerator>(using random: inout Random) -> PrivateKey {
        while true {
            var bytes: FixedBytes<32> = random.fixedBytes()
            defer { bytes.wipe() }
            if let key = try? PrivateKey(bytes) { return key }
        }
    }

    /// Lends the 32 bytes, big-endian. Use them only to write the key file.
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
        // The call fails only for an invalid scalar, which the initialiser excludes, or if the nonce function gives up, which RFC 6979's
        // never does.
        let isSigned = scalar.withExposedBytes { scalar in
            unsafe digest.span.withUnsafePointer { digest in
                unsafe scalar.withUnsafePointer { scalar in
                    unsafe secp256k1_ecdsa_sign_recoverable(
                        Secp256k1.context, &signature, digest, scalar, nil, nil)
                }
            }
        }
        precondition(isSigned == 1)
        // The call always returns 1 (secp256k1_recovery.h).
        _ = unsafe compact.withUnsafeMutablePointer {
            unsafe secp256k1_ecdsa_recoverable_signature_serialize_compact(Secp256k1.context, $0, &recoveryID, &signature)
        }
        // Recovery ids 2 and 3 mean that the nonce's X exceeds the order of the group, as it does once in 2^127 signatures.
        return Signature(compact, v: UInt8(truncatingIfNeeded: recoveryID))
    }

    /// Returns the big-endian X coordinate of the common point, unhashed (PROTOCOL.md §1), in constant time.
    package func sharedSecret(with other: PublicKey) -> SymmetricKey {
        var point = other.point
        var x = FixedBytes<32>()
        // The call fails only for an invalid scalar, which the initialiser excludes.
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

/// Replaces the library's default function, which hashes the point.
private let copyX: secp256k1_ecdh_hash_function = { output, x, _, _ in
    guard let output = unsafe output, let x = unsafe x else { return 0 }
    unsafe output.update(from: x, count: 32)
    return 1
}

extension PrivateKey: CustomStringConvertible, CustomReflectable {
    package var description: String { "<private key of \(publicKey)>" }
    package var customMirror: Mirror { Mirror(self, children: []) }
}
