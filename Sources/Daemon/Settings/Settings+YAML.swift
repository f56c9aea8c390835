import SettingsSources

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

    /// Double quotes where a plain scalar could be taken for something else.
    private static func quoted(_ text: String) -> String {
        let isPlain = text.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || "/._-".contains($0)) }
        guard !isPlain else { return text }
        return "\"" + text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"") + "\""
    }
}
