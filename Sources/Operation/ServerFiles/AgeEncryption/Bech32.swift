/// Bech32 text of bytes, as BIP 173 has it but without its limit of 90 characters: a prefix, `1`, groups of 5 bits, and a checksum of 6
/// characters.
enum Bech32 {
    private static let alphabet = Array("qpzry9x8gf2tvdw0s3jn54khce6mua7l".utf8)

    /// Returns the text in lower case.
    static func encode(_ bytes: [UInt8], prefix: String) -> String {
        let values = regroup(bytes, from: 8, to: 5, pads: true) ?? []
        let rest = checksum(of: expanded(prefix) + values + Array(repeating: 0, count: 6)) ^ 1
        let sum = (0..<6).map { UInt8(rest >> (5 * (5 - $0)) & 31) }
        return prefix + "1" + String(decoding: (values + sum).map { alphabet[Int($0)] }, as: UTF8.self)
    }

    /// Reads a text in lower or in upper case.
    ///
    /// - Parameter prefix: The expected prefix, in lower case.
    /// - Returns: The bytes, or nil if the text has another prefix or is malformed.
    static func decode(_ text: String, prefix: String) -> [UInt8]? {
        guard text == text.lowercased() || text == text.uppercased() else { return nil }
        let text = text.lowercased()
        guard text.hasPrefix(prefix + "1") else { return nil }
        var values: [UInt8] = []
        for character in text.utf8.dropFirst(prefix.utf8.count + 1) {
            guard let value = alphabet.firstIndex(of: character) else { return nil }
            values.append(UInt8(value))
        }
        guard values.count >= 6, checksum(of: expanded(prefix) + values) == 1 else { return nil }
        return regroup(values.dropLast(6), from: 5, to: 8, pads: false)
    }

    private static func expanded(_ prefix: String) -> [UInt8] {
        prefix.utf8.map { $0 >> 5 } + [0] + prefix.utf8.map { $0 & 31 }
    }

    private static func checksum(of values: [UInt8]) -> UInt32 {
        let generators: [UInt32] = [0x3b6a_57b2, 0x2650_8e6d, 0x1ea1_19fa, 0x3d42_33dd, 0x2a14_62b3]
        return values.reduce(1) { sum, value in
            let top = sum >> 25
            let next = (sum & 0x1ff_ffff) << 5 ^ UInt32(value)
            return generators.enumerated().reduce(next) { top >> $1.offset & 1 == 1 ? $0 ^ $1.element : $0 }
        }
    }

    /// Regroups bits, the highest first.
    ///
    /// - Parameter pads: Whether zeros fill the last group. If not, what is left must be zeros, fewer than a group has.
    private static func regroup(_ values: some Sequence<UInt8>, from: Int, to: Int, pads: Bool) -> [UInt8]? {
        var (bits, count): (UInt32, Int) = (0, 0)
        var groups: [UInt8] = []
        for value in values {
            bits = (bits << from | UInt32(value)) & 0xfff
            count += from
            while count >= to {
                count -= to
                groups.append(UInt8(bits >> count & ((1 << to) - 1)))
            }
        }
        let rest = bits & ((1 << count) - 1)
        if pads {
            if count > 0 { groups.append(UInt8(rest << (to - count))) }
        } else if count >= from || rest != 0 {
            return nil
        }
        return groups
    }
}
