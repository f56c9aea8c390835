import FoundationEssentials

/// Writes the pieces of JSON text; the few objects of ours are put together by hand.
package enum JSONText {
    /// A string literal with its quotation marks. Beside what must be escaped, nothing is.
    package static func string(_ string: String) -> String { String(decoding: JSON.text(string).bytes, as: UTF8.self) }

    /// A string literal with bytes in standard base64 with padding (WAKU_REST.md §0).
    package static func base64(_ bytes: [UInt8]) -> String {
        "\"\(Data(bytes).base64EncodedString())\""
    }

    /// An array of strings.
    package static func array(_ strings: [String]) -> String {
        "[" + strings.map(string).joined(separator: ",") + "]"
    }
}

/// Base64 as nodes read it.
package enum Base64 {
    /// Standard alphabet only; padding may be left out (WAKU_REST.md §0).
    ///
    /// - Returns: nil if anything else is in the text.
    package static func decode(_ text: ArraySlice<UInt8>) -> [UInt8]? {
        var padded = Data(text)
        if !text.contains(UInt8(ascii: "=")) {
            padded.append(contentsOf: repeatElement(UInt8(ascii: "="), count: (4 - text.count % 4) % 4))
        }
        return Data(base64Encoded: padded).map { [UInt8]($0) }
    }
}
