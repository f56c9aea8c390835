/// Hexadecimal text of bytes. Writing is lower case. Reading takes both cases.
package enum Hex {
    /// - Parameter prefix: usually "" or "0x".
    package static func encode(_ bytes: [UInt8], prefix: String = "") -> String {
        var text = Array(prefix.utf8)
        text.reserveCapacity(text.count + 2 * bytes.count)
        append(bytes.span, to: &text)
        return String(decoding: text, as: UTF8.self)
    }

    /// Appends the digits, in place if the capacity suffices.
    package static func append(_ bytes: Span<UInt8>, to text: inout [UInt8]) {
        for index in bytes.indices {
            text.append(digit(bytes[index] >> 4))
            text.append(digit(bytes[index] & 15))
        }
    }

    private static func digit(_ value: UInt8) -> UInt8 { value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10 }

    /// - Returns: The bytes, or nil for an odd number of digits or any other character, including a `0x` prefix.
    package static func decode(_ text: some StringProtocol) -> [UInt8]? {
        let digits = Array(String(text).utf8)
        guard digits.count.isMultiple(of: 2) else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(digits.count / 2)
        for index in stride(from: 0, to: digits.count, by: 2) {
            guard let high = nibble(digits[index]), let low = nibble(digits[index + 1]) else { return nil }
            bytes.append(high << 4 | low)
        }
        return bytes
    }

    package static func isDigit(_ character: UInt8) -> Bool { nibble(character) != nil }

    /// A digit's value, or nil for any other character.
    package static func nibble(_ digit: UInt8) -> UInt8? {
        switch digit {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): digit - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}

extension FixedBytes: CustomStringConvertible {
    /// Lower-case hex without prefix.
    package var description: String { Hex.encode(bytes) }

    /// - Returns: Nil unless the text is `count` bytes in hex, without prefix.
    package init?(hex: some StringProtocol) {
        guard let bytes = Hex.decode(hex) else { return nil }
        self.init(bytes)
    }
}
