/// The public key for which a file is encrypted, like `age1…`. Keys of plugins and of SSH are rejected.
///
/// Settings are read without starting a program, so the checksum is verified here, and a typing mistake is reported with its line.
package struct AgeRecipient: Hashable, Sendable, CustomStringConvertible {
    private static let prefix = "age1"
    private static let alphabet = Array("qpzry9x8gf2tvdw0s3jn54khce6mua7l".utf8)
    /// The 32 bytes of the key in groups of 5 bits are 52 characters, and the checksum is 6.
    private static let characterCount = 58

    /// The key in lower case, which is the only form that `age` takes.
    package let description: String

    /// - Returns: The key, or nil if the text is not a public key of age in the encoding Bech32 (BIP 173).
    package init?(_ text: String) {
        guard text == text.lowercased() || text == text.uppercased() else { return nil }
        description = text.lowercased()
        guard description.hasPrefix(Self.prefix) else { return nil }
        let values = description.utf8.dropFirst(Self.prefix.utf8.count).compactMap { Self.alphabet.firstIndex(of: $0) }
        guard values.count == Self.characterCount, description.utf8.count == Self.prefix.utf8.count + values.count,
            // 52 groups have 4 bits more than 32 bytes, which are zero.
            values[Self.characterCount - 7] & 15 == 0,
            Self.checksum(of: [3, 3, 3, 0, 1, 7, 5] + values) == 1
        else { return nil }
    }

    private static func checksum(of values: [Int]) -> Int {
        let generators = [0x3b6a_57b2, 0x2650_8e6d, 0x1ea1_19fa, 0x3d42_33dd, 0x2a14_62b3]
        return values.reduce(1) { sum, value in
            generators.enumerated().reduce((sum & 0x1ff_ffff) << 5 ^ value) { $0 ^ (sum >> (25 + $1.offset) & 1) * $1.element }
        }
    }
}
