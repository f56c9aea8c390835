import TestSupport

/// Random values, with a preference for edge cases: absent, empty, the largest of each varint length.
struct RandomFields: FieldSource {
    private(set) var generator: SplitMix64

    mutating func bool(_ name: String) -> Bool {
        Bool.random(using: &generator)
    }

    mutating func int32(_ name: String) -> Int32 {
        oneIn(2) ? Int32.random(in: 0...4, using: &generator) : Int32(truncatingIfNeeded: edge())
    }

    mutating func uint32(_ name: String) -> UInt32 {
        UInt32(truncatingIfNeeded: edge())
    }

    mutating func uint64(_ name: String) -> UInt64 {
        edge()
    }

    mutating func optionalInt64(_ name: String) -> Int64? {
        oneIn(4) ? nil : Int64(bitPattern: edge())
    }

    mutating func string(_ name: String) -> String {
        String(String.UnicodeScalarView((0..<length()).map { _ in scalar() }))
    }

    mutating func bytes(_ name: String) -> [UInt8] {
        (0..<length()).map { _ in UInt8.random(in: 0...255, using: &generator) }
    }

    mutating func list(_ name: String) -> [[UInt8]] {
        (0..<entryCount()).map { _ in bytes(name) }
    }

    mutating func messages<Message: FilledFromFields>(_ name: String) throws -> [Message] {
        try (0..<entryCount()).map { _ in try Message(fields: &self) }
    }

    /// Returns 0, or 2ⁿ − 1, 2ⁿ or 2ⁿ + 1, or any bits.
    private mutating func edge() -> UInt64 {
        switch Int.random(in: 0...3, using: &generator) {
        case 0: return 0
        case 1: return UInt64.random(in: 0...UInt64.max, using: &generator)
        default:
            let power = 1 << UInt64.random(in: 0...63, using: &generator) as UInt64
            return power &+ UInt64.random(in: 0...2, using: &generator) &- 1
        }
    }

    /// Returns a length: mostly short, sometimes around the limit above which it takes two bytes.
    private mutating func length() -> Int {
        oneIn(3) ? 0 : oneIn(8) ? Int.random(in: 126...130, using: &generator) : Int.random(in: 1...40, using: &generator)
    }

    private mutating func entryCount() -> Int {
        oneIn(2) ? 0 : Int.random(in: 1...4, using: &generator)
    }

    private mutating func scalar() -> Unicode.Scalar {
        let value = oneIn(2) ? UInt32.random(in: 0...0x7F, using: &generator) : UInt32.random(in: 0x80...0x10_FFFF, using: &generator)
        return Unicode.Scalar(value) ?? "\u{FFFD}"
    }

    private mutating func oneIn(_ count: Int) -> Bool {
        Int.random(in: 0..<count, using: &generator) == 0
    }

    init(generator: SplitMix64) {
        self.generator = generator
    }
}
