import StatusCrypto

/// `application/x-www-form-urlencoded`, of a query or a body.
package enum FormFields {
    /// More than any client of ours sends; a batch of notifications has its own bound.
    package static let maximumCount = 100

    /// The fields in their order. A name without `=` has an empty value, and `+` is a space.
    ///
    /// - Returns: nil for a broken escape, text that is no UTF-8, or too many fields.
    package static func read(_ bytes: [UInt8], maximumCount: Int = Self.maximumCount) -> [(name: String, value: String)]? {
        var fields: [(name: String, value: String)] = []
        for part in bytes.split(separator: UInt8(ascii: "&")) {
            guard fields.count < maximumCount else { return nil }
            let halves = part.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
            guard let name = decode(halves[0]), let value = halves.count > 1 ? decode(halves[1]) : "" else { return nil }
            fields.append((name, value))
        }
        return fields
    }

    /// One name or value, as PHP's `http_build_query` writes it: a space is `+`.
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

    private static func decode(_ bytes: ArraySlice<UInt8>) -> String? {
        var decoded: [UInt8] = []
        decoded.reserveCapacity(bytes.count)
        var iterator = bytes.makeIterator()
        while let byte = iterator.next() {
            switch byte {
            case UInt8(ascii: "+"): decoded.append(0x20)
            case UInt8(ascii: "%"):
                guard let high = iterator.next().flatMap(Hex.nibble), let low = iterator.next().flatMap(Hex.nibble) else { return nil }
                decoded.append(high << 4 | low)
            default: decoded.append(byte)
            }
        }
        return String(validating: decoded, as: UTF8.self)
    }
}
