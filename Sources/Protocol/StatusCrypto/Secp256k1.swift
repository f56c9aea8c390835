import Bytes
import CSecp256k1

/// The process-wide context of libsecp256k1.
enum Secp256k1 {
    /// The context, blinded with a random seed against side channels.
    ///
    /// Sharing it is safe: the library documents that several threads may use a context simultaneously in every function that takes it
    /// `const`. The only other functions are randomise and destroy. Randomise runs here, before any other code has the pointer (a static is
    /// initialised once). Destroy never runs.
    nonisolated(unsafe) static let context: OpaquePointer = {
        guard let context = unsafe secp256k1_context_create(UInt32(SECP256K1_CONTEXT_NONE)) else {
            // Nil means that there is no memory (secp256k1.h). The process then ends, as in Swift's own allocations.
            fatalError("no memory for the context of libsecp256k1")
        }
        var random = SecureRandom()
        let seed: FixedBytes<32> = random.fixedBytes()
        // The call always returns 1 (secp256k1.h). An unblinded context would still compute correctly.
        _ = unsafe seed.span.withUnsafePointer { unsafe secp256k1_context_randomize(context, $0) }
        return unsafe context
    }()
}

extension secp256k1_pubkey {
    /// - Parameter encoded: 33 bytes (02, 03) or 65 bytes (04). The library would accept the hybrids 06 and 07 too.
    /// - Returns: The point, or nil if the bytes are not a point on the curve.
    init?(parsing encoded: Span<UInt8>) {
        self.init()
        let isPoint = unsafe encoded.withUnsafePointer {
            unsafe secp256k1_ec_pubkey_parse(Secp256k1.context, &self, $0, encoded.count)
        }
        guard isPoint == 1 else { return nil }
    }

    /// The uncompressed key `04‖X‖Y`.
    var uncompressed: FixedBytes<65> {
        var key = self
        var bytes = FixedBytes<65>()
        var byteCount = 65
        // The call always returns 1 (secp256k1.h): the key is parsed or computed, and the buffer has 65 bytes.
        _ = unsafe bytes.withUnsafeMutablePointer {
            unsafe secp256k1_ec_pubkey_serialize(
                Secp256k1.context, $0, &byteCount, &key, UInt32(SECP256K1_EC_UNCOMPRESSED))
        }
        return bytes
    }
}
