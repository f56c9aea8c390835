import Bytes

/// `application/x-www-form-urlencoded`, of a query or a body.
package enum FormFields {
    /// The maximum number of fields, more than any app sends. A batch of notifications has its own maximum.
    package static let maximumCount = 100

    /// Reads the fields in their order. A name without `=` gets an empty value, and `+` is a space.
    ///
    /// - Returns: The fields, or nil for a broken escape, invalid UTF-8 or too many fields.
    package static func read(_ bytes: [UInt8], maximumCount: Int = Self.maximumCount) -> [(name: String, value: String)]? {
        var fields: [(name: String, value: String)] = []
        let text = bytes.span
        var start = 0
        while start < text.count {
            var nameEnd: Int?
            var end = start
            while end < text.count, text[end] != UInt8(ascii: "&") {
                if nameEnd == nil, text[end] == UInt8(ascii: "=") { nameEnd = end }
                end += 1
            }
            defer { start = end + 1 }
            guard end > start else { continue }
            guard fields.count < maximumCount else { return nil }
            let valueStart = nameEnd.map { $0 + 1 } ?? end
            guard let name = decode(text.extracting(start..<(nameEnd ?? end))), let value = decode(text.extracting(valueStart..<end)) else {
                return nil
            }
            fields.append((name, value))
        }
        return fields
    }

    /// Encodes a name or value like PHP's `http_build_query`: a space is `+`.
    package static func encode(_ text: String) -> String {
        var encoded: [UInt8] = []
        for byte in text.utf8 {
            switch Unicode.Scalar(byte) {
            case "0"..."9", "a"..."z", "A"..."Z", "-", ".", "_": encoded.append(byte)
            case " ": encoded.append(UInt8(ascii: "+"))
            default: encoded += ("%" + Hex.encode([byte]).uppercased()).utf8
            }
        }
        return String(decoding: encoded, as: UTF8.self)
    }

    /// - Returns: The text, or nil for a broken escape or invalid UTF-8.
    private static func decode(_ encoded: Span<UInt8>) -> String? {
        var isBroken = false
        let decoded = [UInt8](capacity: encoded.count) { decoded in
            var index = 0
            while index < encoded.count {
                switch encoded[index] {
                case UInt8(ascii: "+"): decoded.append(0x20)
                case UInt8(ascii: "%"):
                    guard encoded.count - index > 2, let high = Hex.nibble(encoded[index + 1]), let low = Hex.nibble(encoded[index + 2])
                    else { return isBroken = true }
                    decoded.append(high << 4 | low)
                    index += 2
                default: decoded.append(encoded[index])
                }
                index += 1
            }
        }
        return isBroken ? nil : String(validating: decoded, as: UTF8.self)
    }
}
