import Bytes

/// Percent-encoding for the parts of a URL (RFC 3986 §2.1), as a node reads it.
package enum PercentEncoding {
    /// Encodes a path segment or query value: all characters that are not unreserved, including `/` and `+` (WAKU_REST.md §0).
    package static func encode(_ text: String) -> String {
        var encoded = ""
        for byte in text.utf8 {
            switch Unicode.Scalar(byte) {
            case let scalar where isUnreserved(scalar): encoded.unicodeScalars.append(scalar)
            default: encoded += "%" + Hex.encode([byte]).uppercased()
            }
        }
        return encoded
    }

    /// - Parameter plusIsSpace: Whether `+` is a space, as nodes read it except in hashes and cursors.
    /// - Returns: The decoded text, or nil if an escape is broken or the result is not UTF-8.
    package static func decode(_ text: some StringProtocol, plusIsSpace: Bool = true) -> String? {
        var bytes: [UInt8] = []
        var rest = Array(text.utf8)[...]
        while let byte = rest.popFirst() {
            switch Unicode.Scalar(byte) {
            case "%":
                guard let high = rest.popFirst().flatMap(Hex.nibble), let low = rest.popFirst().flatMap(Hex.nibble) else { return nil }
                bytes.append(high << 4 | low)
            case "+" where plusIsSpace: bytes.append(0x20)
            default: bytes.append(byte)
            }
        }
        return String(validating: bytes, as: UTF8.self)
    }

    private static func isUnreserved(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar {
        case "0"..."9", "a"..."z", "A"..."Z", "-", ".", "_", "~": true
        default: false
        }
    }
}
