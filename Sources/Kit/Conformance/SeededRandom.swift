import Bytes
import StatusCrypto
import Synchronization

/// A scenario's source of keys, tokens and bytes: the same for the same seed and name, so that a run can be repeated.
///
/// SplitMix64 (Steele, Lea, Flood). Not for keys that protect anything: the kit's keys are thrown away.
final class SeededRandom: Sendable {
    private let state: Mutex<UInt64>

    /// - Parameters:
    ///   - seed: The run's seed.
    ///   - name: The scenario's name. It gives each scenario its own numbers, in whatever order they run.
    init(seed: UInt64, name: String) {
        let digest = Keccak.keccak256(Array(name.utf8)).bytes
        state = Mutex(seed ^ UInt64(bigEndianBytes: digest.prefix(8)))
    }

    private func next() -> UInt64 {
        state.withLock { state in
            state &+= 0x9E37_79B9_7F4A_7C15
            var mixed = state
            mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
            mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
            return mixed ^ mixed >> 31
        }
    }

    /// The source as a generator. Copies draw from the same source.
    var generator: Generator { Generator(source: self) }

    struct Generator: RandomNumberGenerator {
        fileprivate let source: SeededRandom

        mutating func next() -> UInt64 { source.next() }
    }
}
