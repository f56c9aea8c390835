import TestSupport

/// A generator of random changes of inputs, for builds without libFuzzer. The code that an input reaches does not guide it.
struct Mutator {
    private static let interesting: [UInt8] = [0x00, 0x01, 0x04, 0x0A, 0x7F, 0x80, 0xFE, 0xFF]
    private static let maximumByteCount = 16 << 10

    var seeds: [[UInt8]]
    private var random: SplitMix64

    /// - Parameter number: The seed. Equal numbers make equal inputs.
    init(seeds: [[UInt8]], number: UInt64) {
        self.seeds = seeds.isEmpty ? [[]] : seeds
        random = SplitMix64(seed: number)
    }

    /// Returns a seed with one to eight random changes.
    mutating func next() -> [UInt8] {
        var input = seed()
        for _ in 0..<Int.random(in: 1...8, using: &random) { change(&input) }
        if input.count > Self.maximumByteCount { input.removeSubrange(Self.maximumByteCount...) }
        return input
    }

    private mutating func seed() -> [UInt8] {
        seeds.randomElement(using: &random) ?? []
    }

    private mutating func change(_ input: inout [UInt8]) {
        let range = range(in: input)
        switch Int.random(in: 0..<8, using: &random) {
        case 0: if let place = range.first { input[place] ^= 1 << UInt8.random(in: 0..<8, using: &random) }
        case 1: if let place = range.first { input[place] = .random(in: .min ... .max, using: &random) }
        case 2: if let place = range.first, let value = Self.interesting.randomElement(using: &random) { input[place] = value }
        case 3: input.removeSubrange(range)
        case 4: input.insert(contentsOf: input[range], at: range.lowerBound)
        case 5: input.insert(.random(in: .min ... .max, using: &random), at: range.lowerBound)
        case 6:
            // The tail of another seed.
            let other = seed()
            input.replaceSubrange(range.lowerBound..., with: other[self.range(in: other).lowerBound...])
        default: input.append(contentsOf: seed().prefix(64))
        }
    }

    private mutating func range(in input: [UInt8]) -> Range<Int> {
        let start = Int.random(in: 0...input.count, using: &random)
        return start..<Int.random(in: start...min(input.count, start + 64), using: &random)
    }
}
