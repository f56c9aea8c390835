import Bytes
import FoundationEssentials

/// DER as text: `-----BEGIN LABEL-----`, base64 in lines of 64, `-----END LABEL-----` (RFC 7468).
enum PEM {
    /// The maximum size. A private key of 8,192 bits takes 6,500 bytes.
    private static let maximumByteCount = 8_192
    private static let columnCount = 64

    /// Decodes a text whose line ends are LF or CRLF, with or without a last line end and without further content.
    ///
    /// - Returns: The DER, or nil for any other text.
    static func decode(_ text: String, label: String) -> [UInt8]? {
        guard text.utf8.count <= maximumByteCount else { return nil }
        var lines = text.replacing("\r\n", with: "\n").split(separator: "\n", omittingEmptySubsequences: false)
        if lines.last == "" { lines.removeLast() }
        guard lines.count > 2, lines.first == "-----BEGIN \(label)-----", lines.last == "-----END \(label)-----" else { return nil }
        return Data(base64Encoded: lines[1..<(lines.count - 1)].joined()).map { [UInt8]($0) }
    }

    /// Encodes the DER with a line end after the last line.
    static func encode(_ bytes: [UInt8], label: String) -> String {
        let base64 = Array(Data(bytes).base64EncodedString().utf8)
        var text = "-----BEGIN \(label)-----\n"
        for start in stride(from: 0, to: base64.count, by: columnCount) {
            text += String(decoding: base64[start..<min(start + columnCount, base64.count)], as: UTF8.self) + "\n"
        }
        return text + "-----END \(label)-----\n"
    }
}
