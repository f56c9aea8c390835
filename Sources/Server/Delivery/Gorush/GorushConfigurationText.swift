/// The values that this server needs from the configuration that gorush shows at `/api/config`.
///
/// Whatever listens at gorush's address writes this text, so no library for YAML reads it: anchors, aliases, tags, nesting and typed
/// numbers can stop or exhaust such a library. Go writes a section's name at the start of a line and each of its settings on a line below:
///
///     core:
///       sync: true
///
/// Deeper lines belong to settings that are not needed, and so does every line with another form.
struct GorushConfigurationText: Sendable {
    /// The text has about 4 KB.
    static let maximumByteCount = 64 * 1_024
    /// Longer values are paths and lists, which are not needed.
    private static let maximumValueByteCount = 100

    private var sections: [String: [String: String]] = [:]

    /// Reads a text in a single pass.
    ///
    /// - Returns: Nil if the text is too long, or if a section or a setting occurs twice, so that its value is ambiguous.
    init?(_ bytes: [UInt8]) {
        guard bytes.count <= Self.maximumByteCount else { return nil }
        var section = ""
        /// How far the section's settings are indented: as far as the first of them.
        var depth: Int?
        for line in bytes.split(whereSeparator: { $0 == UInt8(ascii: "\n") || $0 == UInt8(ascii: "\r") }) {
            let indentation = line.prefix { $0 == UInt8(ascii: " ") }.count
            guard indentation < line.count, line[line.startIndex + indentation] != UInt8(ascii: "#") else { continue }
            if indentation == 0 { (section, depth) = ("", nil) } else { depth = depth ?? indentation }
            guard let (name, value) = Self.setting(line.dropFirst(indentation)) else { continue }
            if indentation == 0 {
                guard value.isEmpty else { continue }
                guard sections.updateValue([:], forKey: name) == nil else { return nil }
                section = name
            } else if !section.isEmpty, indentation == depth {
                guard sections[section]?.updateValue(value, forKey: name) == nil else { return nil }
            }
        }
    }

    /// Returns name and value from a line `name: value`, or nil for any other line.
    private static func setting(_ line: ArraySlice<UInt8>) -> (name: String, value: String)? {
        let name = line.prefix(while: isOfName)
        let rest = line.dropFirst(name.count)
        guard !name.isEmpty, rest.first == UInt8(ascii: ":") else { return nil }
        let value = rest.dropFirst()
        guard value.first == nil || value.first == UInt8(ascii: " "), value.count <= maximumValueByteCount,
            value.allSatisfy({ (0x20...0x7E).contains($0) })
        else { return nil }
        let text = String(decoding: value, as: UTF8.self).split(separator: " ").joined(separator: " ")
        return (String(decoding: name, as: UTF8.self), unquoted(text))
    }

    private static func isOfName(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"): true
        default: false
        }
    }

    private static func unquoted(_ text: String) -> String {
        guard let quote = text.first, quote == "\"" || quote == "'", text.count > 1, text.last == quote else { return text }
        return String(text.dropFirst().dropLast())
    }

    // MARK: Values

    /// Whether the text has a section of that name.
    func has(_ section: String) -> Bool { sections[section] != nil }

    func text(_ name: String, in section: String) -> String? { sections[section]?[name] }

    func flag(_ name: String, in section: String) -> Bool? { text(name, in: section).flatMap(Bool.init) }

    /// Returns a number of at most nine digits, which no limit of this server exceeds.
    func number(_ name: String, in section: String) -> Int? {
        text(name, in: section).flatMap { $0.utf8.count < 10 ? Int($0) : nil }
    }
}
