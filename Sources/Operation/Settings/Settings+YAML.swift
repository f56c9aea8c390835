extension Settings {
    /// The settings in the order in which they are read, as YAML that reads back to the same configuration.
    static func yaml(_ settings: [SettingsReader.Effective]) -> String {
        var lines: [String] = []
        var openPath: [Substring] = []
        for setting in settings {
            let path = setting.key.split(separator: ".")
            let shared = zip(path.dropLast(), openPath).prefix { $0 == $1 }.count
            for depth in shared..<(path.count - 1) {
                lines.append(indentation(depth) + path[depth] + ":")
            }
            openPath = Array(path.dropLast())
            let name = indentation(path.count - 1) + path[path.count - 1]
            switch setting.value {
            case .scalar(let text): lines.append("\(name): \(quoted(text))")
            case .list(let texts): lines.append("\(name): [\(texts.map(quoted).joined(separator: ", "))]")
            case nil: lines.append(indentation(path.count - 1) + "# \(path[path.count - 1]): not set")
            }
        }
        return lines.joined(separator: "\n")
    }

    private static func indentation(_ depth: Int) -> String {
        String(repeating: "  ", count: depth)
    }

    /// Returns the text in double quotes if YAML could read the plain scalar as another value.
    private static func quoted(_ text: String) -> String {
        let isWord = text.unicodeScalars.allSatisfy {
            $0.isASCII && ($0.properties.isAlphabetic || "0"..."9" ~= $0 || "/._-".unicodeScalars.contains($0))
        }
        let isPlain = isWord && !text.isEmpty && !"._-".contains(text.prefix(1)) && text.lowercased() != "null"
        return isPlain ? text : "\"" + text.unicodeScalars.map(escaped).joined() + "\""
    }

    /// Returns a character as it is written in double quotes (YAML 1.2 §5.7).
    private static func escaped(_ scalar: Unicode.Scalar) -> String {
        switch scalar {
        case "\\", "\"": "\\\(scalar)"
        // These characters are not printable in YAML, end a line, or are the byte order mark.
        case "\0"..<" ", "\u{7F}"..."\u{9F}", "\u{2028}", "\u{2029}", "\u{FEFF}", "\u{FFFE}", "\u{FFFF}":
            "\\u" + String(repeating: "0", count: 4 - String(scalar.value, radix: 16).count) + String(scalar.value, radix: 16)
        default: String(scalar)
        }
    }
}
