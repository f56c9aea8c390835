import CSecp256k1

/// The process-wide context of libsecp256k1.
enum Secp256k1 {
    /// Blinded with a random seed against side channels.
    ///
    /// Safe to share: the library documents that a context may be used from several threads at once by every function that takes it
    /// `const`. The only other ones are randomise and destroy. The first runs here, before anybody else can have the pointer
    /// (a static is initialised once); the second never runs.
    nonisolated(unsafe) static let context: OpaquePointer = {
        guard let context = unsafe secp256k1_context_create(UInt32(SECP256K1_CONTEXT_NONE)) else {
            // Nil only without memory (secp256k1.h), which ends the process as it does in Swift's own allocations.
            fatalError("no memory for the context of libsecp256k1")
        }
        var random = SecureRandom()
        let seed: FixedBytes<32> = random.fixedBytes()
        // Returns 1 always (secp256k1.h); a context that was not blinded would still compute correctly.
        _ = unsafe seed.span.withUnsafePointer { unsafe secp256k1_context_randomize(context, $0) }
        return unsafe context
    }()
}

extension secp256k1_pubkey {
    /// - Parameter encoded: 33 bytes (02, 03) or 65 bytes (04; the library would take the hybrids 06 and 07 too).
    /// - Returns: nil for what is no point of the curve.
    init?(parsing encoded: Span<UInt8>) {
        self.init()
        let isPoint = unsafe encoded.withUnsafePointer {
            unsafe secp256k1_ec_pubkey_parse(Secp256k1.context, &self, $0, encoded.count)
        }
        guard isPoint == 1 else { return nil }
    }

    /// `04‖X‖Y`.
    var uncompressed: FixedBytes<65> {
        var key = self
        var bytes = FixedBytes<65>()
        var byteCount = 65
        // Returns 1 always (secp256k1.h): a parsed or computed key and room for 65 bytes.
        _ = unsafe bytes.withUnsafeMutablePointer {
            unsafe secp256k1_ec_pubkey_serialize(
                Secp256k1.context, $0, &byteCount, &key, UInt32(SECP256K1_EC_UNCOMPRESSED))
        }
        return bytes
    }
}
