/// UUIDs (RFC 9562): 128 bits, six of which state version and variant. Access tokens are UUIDs, and installation ids usually are.
package enum UniversallyUniqueID {
    /// Returns the bytes with version and variant set.
    ///
    /// - Parameter version: 4 for random bytes, 7 for a time and random bytes, 8 for an application's own scheme.
    package static func marked(_ bytes: FixedBytes<16>, version: UInt8) -> FixedBytes<16> {
        var bytes = bytes
        bytes[6] = bytes[6] & 0x0F | version << 4
        bytes[8] = bytes[8] & 0x3F | 0x80
        return bytes
    }

    /// Returns five groups of lower-case hex digits.
    package static func text(_ bytes: FixedBytes<16>, version: UInt8) -> String {
        let bytes = marked(bytes, version: version).bytes
        return [0..<4, 4..<6, 6..<8, 8..<10, 10..<16].map { Hex.encode(Array(bytes[$0])) }.joined(separator: "-")
    }

    /// Returns a random UUID as text, version 4.
    package static func random(using random: inout some RandomNumberGenerator) -> String {
        text(random.fixedBytes(), version: 4)
    }

    /// Whether the characters are five groups of hex digits, in any case.
    package static func isText(_ characters: Substring.UTF8View) -> Bool {
        guard characters.count == 36 else { return false }
        return characters.enumerated().allSatisfy { place, character in
            switch place {
            case 8, 13, 18, 23: character == UInt8(ascii: "-")
            default: Hex.isDigit(character)
            }
        }
    }
}
