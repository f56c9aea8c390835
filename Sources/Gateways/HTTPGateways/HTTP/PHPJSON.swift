/// JSON as PHP's `json_encode` writes it: the signed bytes depend on it (GATEWAY_PROTOCOLS.md §1).
package enum PHPJSON {
    /// A string literal with its quotation marks: `/` is `\/`, and other characters than ASCII are `\uXXXX` in lower case.
    package static func string(_ text: String) -> String {
        var literal = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": literal += "\\\""
            case "\\": literal += "\\\\"
            case "/": literal += "\\/"
            case "\u{08}": literal += "\\b"
            case "\u{0C}": literal += "\\f"
            case "\n": literal += "\\n"
            case "\r": literal += "\\r"
            case "\t": literal += "\\t"
            case " "..."\u{7F}": literal.unicodeScalars.append(scalar)
            default:
                for unit in String(scalar).utf16 {
                    let digits = String(unit, radix: 16)
                    literal += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
                }
            }
        }
        return literal + "\""
    }
}
