import FoundationEssentials

/// Pieces of JSON text, for the few objects that the code composes as text.
package enum JSONText {
    /// Returns a string literal with its quotation marks and the required escapes only.
    package static func string(_ string: String) -> String { String(decoding: JSON.text(string).bytes, as: UTF8.self) }

    /// Returns a string literal with bytes in standard base64 with padding (WAKU_REST.md §0).
    package static func base64(_ bytes: [UInt8]) -> String {
        "\"\(Data(bytes).base64EncodedString())\""
    }

    package static func array(_ strings: [String]) -> String {
        "[" + strings.map(string).joined(separator: ",") + "]"
    }
}

/// Base64 in the form that nodes accept.
package enum Base64 {
    /// Decodes the standard alphabet with or without padding (WAKU_REST.md §0).
    ///
    /// - Returns: The bytes, or nil if the text is not base64.
    package static func decode(_ text: ArraySlice<UInt8>) -> [UInt8]? {
        var padded = Data(text)
        if !text.contains(UInt8(ascii: "=")) {
            padded.append(contentsOf: repeatElement(UInt8(ascii: "="), count: (4 - text.count % 4) % 4))
        }
        return Data(base64Encoded: padded).map { [UInt8]($0) }
    }
}
