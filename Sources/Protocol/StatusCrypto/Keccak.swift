package import Bytes

/// The protocol's Keccak functions (PROTOCOL.md §1). libcrypto 3.0 has SHAKE but not the original Keccak-256, so this module's sponge
/// computes both.
package enum Keccak {
    /// Keccak-256 with the original padding, as Ethereum uses it: not SHA3-256.
    package static func keccak256(_ bytes: [UInt8]) -> Digest32 { keccak256(bytes.span) }

    /// Hashes borrowed bytes.
    package static func keccak256(_ bytes: Span<UInt8>) -> Digest32 {
        var sponge = KeccakSponge.keccak256
        sponge.absorb(bytes)
        return sponge.squeeze()
    }

    /// Hashes two parts in sequence.
    package static func keccak256(_ first: Span<UInt8>, _ second: Span<UInt8>) -> Digest32 {
        var sponge = KeccakSponge.keccak256
        sponge.absorb(first)
        sponge.absorb(second)
        return sponge.squeeze()
    }

    /// SHA3-256 (FIPS 202), which differs from Keccak-256 in its padding alone. The protocol does not use it, but clients do by mistake.
    package static func sha3(_ bytes: [UInt8]) -> Digest32 {
        var sponge = KeccakSponge(rateByteCount: 200 - 2 * 32, padding: 0x06)
        sponge.absorb(bytes.span)
        return sponge.squeeze()
    }

    /// SHAKE-256 (FIPS 202) with 64 bytes of output.
    package static func shake256(_ bytes: [UInt8]) -> Digest64 { shake256(bytes.span) }

    /// Hashes borrowed bytes.
    package static func shake256(_ bytes: Span<UInt8>) -> Digest64 {
        var sponge = KeccakSponge.shake256
        sponge.absorb(bytes)
        return sponge.squeeze()
    }
}

/// The sponge of FIPS 202 §4 over Keccak-f[1600]: absorb as often as needed, then squeeze once.
///
///     var sponge = KeccakSponge.keccak256
///     sponge.absorb(key.span)
///     sponge.absorb(message.span)
///     let digest: Digest32 = sponge.squeeze()
package struct KeccakSponge: Sendable {
    /// Twenty-five lanes, x fastest: FIPS 202 §3.1.2.
    private var lanes = InlineArray<25, UInt64>(repeating: 0)
    /// The position of the next byte in the rate.
    private var position = 0
    private let rateByteCount: Int
    /// Domain bits and the first bit of pad10*1.
    private let padding: UInt8

    /// Output 32 bytes, capacity twice that. The padding from before FIPS 202 added domain bits.
    package static var keccak256: KeccakSponge { KeccakSponge(rateByteCount: 200 - 2 * 32, padding: 0x01) }
    /// Security 256 bits, capacity twice that. FIPS 202 §6.2.
    package static var shake256: KeccakSponge { KeccakSponge(rateByteCount: 200 - 2 * 32, padding: 0x1F) }

    /// - Parameter rateByteCount: a multiple of 8 below 200.
    init(rateByteCount: Int, padding: UInt8) {
        self.rateByteCount = rateByteCount
        self.padding = padding
    }

    /// Adds the next part of the message.
    package mutating func absorb(_ bytes: [UInt8]) { absorb(bytes.span) }

    /// Adds the next part of the message.
    package mutating func absorb(_ bytes: Span<UInt8>) {
        var index = 0
        while index < bytes.count {
            if position.isMultiple(of: 8), bytes.count - index >= 8 {
                // The read is in bounds: eight bytes remain.
                let lane = unsafe bytes.bytes.unsafeLoadUnaligned(fromByteOffset: index, as: UInt64.self)
                lanes[position / 8] ^= UInt64(littleEndian: lane)
                position += 8
                index += 8
            } else {
                absorb(bytes[index])
                position += 1
                index += 1
            }
            if position == rateByteCount {
                KeccakPermutation.apply(to: &lanes)
                position = 0
            }
        }
    }

    /// Pads and returns the output, which must fit into a single block, as all outputs in this protocol do.
    package consuming func squeeze<let count: Int>() -> FixedBytes<count> {
        precondition(count <= rateByteCount)
        absorb(padding)
        position = rateByteCount - 1
        absorb(0x80)
        KeccakPermutation.apply(to: &lanes)
        var output = FixedBytes<count>()
        for index in 0..<count {
            output[index] = UInt8(truncatingIfNeeded: lanes[index / 8] >> UInt64(8 * (index % 8)))
        }
        return output
    }

    /// Adds a byte at `position` without advancing it.
    private mutating func absorb(_ byte: UInt8) {
        lanes[position / 8] ^= UInt64(byte) << UInt64(8 * (position % 8))
    }
}
