import StatusCrypto

/// UUIDs as text (RFC 9562): access tokens have to be some, installation ids usually are.
enum UniversallyUniqueID {
    /// A version 4 UUID.
    static func random(using random: inout some RandomNumberGenerator) -> String {
        text(random.bytes(16), version: 4)
    }

    /// - Parameters:
    ///   - bytes: 16 of them, of which version and variant take six bits.
    ///   - version: 4 for random bytes, 8 for bytes of the application's own making.
    static func text(_ bytes: [UInt8], version: UInt8) -> String {
        var bytes = bytes
        bytes[6] = bytes[6] & 0x0F | version << 4
        bytes[8] = bytes[8] & 0x3F | 0x80
        return [0..<4, 4..<6, 6..<8, 8..<10, 10..<16].map { Hex.encode(bytes[$0]) }.joined(separator: "-")
    }

    /// Whether a text is one as `text` writes them, in any case.
    static func isOne(_ text: String) -> Bool {
        let groups = text.utf8.split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
        return groups.map(\.count) == [8, 4, 4, 4, 12] && groups.joined().allSatisfy { Hex.nibble($0) != nil }
    }
}
