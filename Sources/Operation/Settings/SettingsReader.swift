import Foundation
import ServerFiles

/// A reader of settings by key and type. It collects all problems instead of stopping at the first.
///
/// The keys that the caller reads are the known settings, and their values are the effective configuration.
struct SettingsReader {
    struct Effective {
        var key: String
        var value: SettingValue?
    }

    private let source: SettingsSource
    private(set) var problems: [String]
    /// The settings that work and will not for long.
    private(set) var warnings: [String] = []
    private(set) var effective: [Effective] = []
    /// The settings that have no effect any more.
    private var ignored: Set<String> = []
    /// The settings whose values no problem shows.
    private var secrets: Set<String> = []
    /// The sections whose names the operator chooses.
    private var sections: Set<String> = []

    init(_ source: SettingsSource) {
        self.source = source
        problems = source.problems
    }

    /// Reads a setting. An invalid setting is a problem, and gets the default.
    mutating func value<Value>(_ key: String, _ type: SettingType<Value>, default fallback: Value) -> Value {
        let value = parse(key, type) ?? fallback
        effective.append(Effective(key: key, value: .scalar(type.show(value))))
        return value
    }

    /// Reads a setting into a variable, which holds the default.
    mutating func update<Value>(_ variable: inout Value, _ key: String, _ type: SettingType<Value>) {
        variable = value(key, type, default: variable)
    }

    /// Reads a setting, or nil if it is not set or invalid.
    mutating func optional<Value>(_ key: String, _ type: SettingType<Value>) -> Value? {
        let value = parse(key, type)
        effective.append(Effective(key: key, value: value.map { .scalar(type.show($0)) }))
        return value
    }

    /// Reads a list, or a text with commas. An invalid list is a problem, and gets the default.
    ///
    /// - Parameters:
    ///   - type: The elements' type.
    ///   - isSet: Whether an element must not occur twice.
    mutating func list<Element>(
        _ key: String, of type: SettingType<Element>, default fallback: [Element] = [], isSet: Bool = false
    ) -> [Element] {
        if type.isSecret { secrets.insert(key) }
        var elements = fallback
        if let found = source.find(key) {
            let texts =
                switch found.value {
                case .list(let texts): texts
                case .scalar(let text): text.split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) }
                }
            let parsed = texts.compactMap(type.parse)
            if parsed.isEmpty && !fallback.isEmpty || parsed.count != texts.count {
                report(found, "expected a list of \(type.plural ?? type.expected)", isSecret: type.isSecret)
            } else {
                elements = parsed
            }
        }
        let shown = elements.map(type.show)
        if isSet, let twice = shown.first(where: { text in shown.count { $0 == text } > 1 }) { report(key, "\(twice) is listed twice") }
        effective.append(Effective(key: key, value: .list(shown)))
        return elements
    }

    /// Reads a list, or nil if it is not set.
    mutating func optionalList<Element>(_ key: String, of type: SettingType<Element>, isSet: Bool = false) -> [Element]? {
        guard self.isSet(key) else {
            effective.append(Effective(key: key, value: nil))
            return nil
        }
        return list(key, of: type, isSet: isSet)
    }

    /// Reads a secret text: the setting, or the only line in the file that `KEYFile` names.
    mutating func secret(_ key: String) -> String? {
        let text = optional(key, .secret())
        guard let lines = privateLines(insteadOf: key) else { return text }
        guard lines.count == 1 else {
            report("\(key)File", "expected one line with a text in the file")
            return nil
        }
        return lines[0]
    }

    /// Reads HTTP headers: the setting, or the lines of the file that `KEYFile` names.
    mutating func headers(_ key: String) -> [Header] {
        let headers = list(key, of: .header)
        guard let lines = privateLines(insteadOf: key) else { return headers }
        let type = SettingType.header
        let parsed = lines.compactMap(type.parse)
        if parsed.isEmpty || parsed.count != lines.count {
            report("\(key)File", "expected a list of \(type.expected) in the file, one a line")
        }
        return parsed
    }

    /// Reads the lines from the file that holds a secret instead of the setting. It has mode 0600, or is a systemd credential.
    ///
    /// - Returns: The lines, or nil if no file is set or the file cannot be used.
    private mutating func privateLines(insteadOf key: String) -> [String]? {
        let fileKey = key + "File"
        guard let path = optional(fileKey, .path) else { return nil }
        if isSet(key) { report(fileKey, "conflicts with \(key); set only one of them") }
        do {
            if let bytes = try PrivateFile(path: path).read() {
                return String(decoding: bytes, as: UTF8.self).split(whereSeparator: \.isNewline).map(String.init)
            }
            report(fileKey, "the file does not exist")
        } catch {
            report(fileKey, "\(error)")
        }
        return nil
    }

    /// Reads the path to a readable file, or nil if it is not set.
    mutating func existingFile(_ key: String) -> String? {
        let path = optional(key, .path)
        if let path, !FileManager.default.isReadableFile(atPath: path) { report(key, "the file does not exist or cannot be read") }
        return path
    }

    func isSet(_ key: String) -> Bool { source.find(key) != nil }

    /// Whether anything is set in a section.
    func has(section: String) -> Bool { source.has(section: section) }

    /// The names that the operator chose below a section.
    mutating func names(below section: String) -> [String] {
        sections.insert(section)
        return source.names(below: section)
    }

    /// Returns the names if they may contain dots. Each name ends before a key from this list.
    mutating func names(below section: String, before keys: [String]) -> [String] {
        sections.insert(section)
        return source.names(below: section, before: keys)
    }

    /// Reports a problem with a setting, with its value unless that is secret, and with its origin.
    mutating func report(_ key: String, _ problem: String) {
        guard let found = source.find(key) else { return report("\(key): \(problem)") }
        report(found, problem, isSecret: secrets.contains(key))
    }

    /// Reports a problem once, because routes repeat the problems of settings that they inherit.
    private mutating func report(_ problem: String) {
        if !problems.contains(problem) { problems.append(problem) }
    }

    /// Accepts a setting that had an effect in the version before, with a warning.
    mutating func ignore(_ key: String) {
        ignored.insert(key)
        if isSet(key) { warnings.append("\(key) has no effect any more; remove it, because version 0.5 rejects it") }
    }

    /// Reports settings that exist in the source and were not read. Call this function after reading all settings.
    mutating func finish() { problems += source.unusable(besides: ignored.union(effective.map(\.key)), sections: sections) }

    private mutating func parse<Value>(_ key: String, _ type: SettingType<Value>) -> Value? {
        if type.isSecret { secrets.insert(key) }
        guard let found = source.find(key) else { return nil }
        if found.isQuoted, !type.allowsQuotes {
            report(found, "expected \(type.expected) without quotes", isSecret: type.isSecret)
            return nil
        }
        if case .scalar(let text) = found.value, let value = type.parse(type.isPath ? found.path : text) { return value }
        report(found, "expected \(type.expected)", isSecret: type.isSecret)
        return nil
    }

    /// - Parameter isSecret: Whether the value may contain a secret, which the problem then does not show.
    private mutating func report(_ found: SettingsSource.Found, _ problem: String, isSecret: Bool) {
        let value = isSecret ? "" : ", found \(found.value.text)"
        report("\(found.name): \(problem)\(value)" + (found.line.map { " (\($0))" } ?? ""))
    }
}
