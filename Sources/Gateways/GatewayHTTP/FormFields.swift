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
        var rest = bytes[...]
        while !rest.isEmpty {
            let end = rest.firstIndex(of: UInt8(ascii: "&")) ?? rest.endIndex
            let part = rest[..<end]
            rest = rest[min(end + 1, rest.endIndex)...]
            guard !part.isEmpty else { continue }
            guard fields.count < maximumCount else { return nil }
            let nameEnd = part.firstIndex(of: UInt8(ascii: "=")) ?? part.endIndex
            guard let name = decode(part[..<nameEnd]), let value = decode(part[nameEnd...].dropFirst()) else { return nil }
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
        var rest = bytes
        // Runs of what stands for itself are copied at once.
        while let index = rest.firstIndex(where: { $0 == UInt8(ascii: "%") || $0 == UInt8(ascii: "+") }) {
            decoded += rest[..<index]
            if rest[index] == UInt8(ascii: "+") {
                decoded.append(0x20)
                rest = rest[(index + 1)...]
            } else {
                guard rest.endIndex - index > 2, let high = Hex.nibble(rest[index + 1]), let low = Hex.nibble(rest[index + 2]) else {
                    return nil
                }
                decoded.append(high << 4 | low)
                rest = rest[(index + 3)...]
            }
        }
        decoded += rest
        return String(validating: decoded, as: UTF8.self)
    }
}
