import Foundation
import PostgreSQLStore
import Settings

/// A reader of settings by key and type. It collects all problems instead of stopping at the first one.
///
/// The keys that the caller reads are the known settings, and their values are the effective configuration.
struct SettingsReader {
    struct Effective {
        var key: String
        var value: SettingValue?
    }

    private let source: SettingsSource
    private(set) var problems: [String]
    private(set) var effective: [Effective] = []

    init(_ source: SettingsSource) {
        self.source = source
        problems = source.problems
    }

    // MARK: Types

    mutating func string(
        _ key: String, default fallback: String, expected: String = "a text", _ isAllowed: (String) -> Bool = { !$0.isEmpty }
    ) -> String {
        value(key, fallback, expected: expected) {
            isAllowed($0) ? $0 : nil
        } show: {
            $0
        }
    }

    /// - Parameter allowsQuotes: Whether the file may have the value in quotes.
    mutating func bool(_ key: String, default fallback: Bool, allowsQuotes: Bool = true) -> Bool {
        value(key, fallback, expected: "true or false", allowsQuotes: allowsQuotes) {
            $0 == "true" ? true : $0 == "false" ? false : nil
        } show: {
            "\($0)"
        }
    }

    /// - Parameter allowsQuotes: Whether the file may have the value in quotes.
    mutating func integer(_ key: String, default fallback: Int, in range: ClosedRange<Int>, allowsQuotes: Bool = true) -> Int {
        value(
            key, fallback, expected: "a whole number from \(range.lowerBound) to \(range.upperBound)", allowsQuotes: allowsQuotes
        ) { text in
            Int(text).flatMap { range.contains($0) ? $0 : nil }
        } show: {
            "\($0)"
        }
    }

    /// Reads an integer; nil if it is not set.
    mutating func optionalInteger(_ key: String, in range: ClosedRange<Int>) -> Int? {
        guard source.find(key) != nil else {
            effective.append(Effective(key: key, value: nil))
            return nil
        }
        return integer(key, default: range.lowerBound, in: range)
    }

    /// Reads a path and makes it absolute. A relative path in the configuration file starts from that file's folder, any other from the
    /// working directory.
    mutating func path(_ key: String, default fallback: String) -> String {
        let absolutePath = source.find(key)?.path
        return value(key, fallback, expected: "a path") {
            $0.isEmpty ? nil : absolutePath
        } show: {
            $0
        }
    }

    /// Reads a path; nil if it is not set.
    mutating func optionalPath(_ key: String) -> String? {
        optionalText(key) { reader in reader.path(key, default: "") }
    }

    /// Reads a text; nil if it is not set.
    mutating func optionalString(_ key: String) -> String? {
        optionalText(key) { reader in reader.string(key, default: "") }
    }

    /// Reads an optional setting; nil if it is not set.
    mutating func optional<Value>(_ key: String, _ read: (inout SettingsReader) -> Value) -> Value? {
        guard isSet(key) else {
            effective.append(Effective(key: key, value: nil))
            return nil
        }
        return read(&self)
    }

    func isSet(_ key: String) -> Bool {
        source.find(key) != nil
    }

    /// Reads a secret text: the setting, or the only line of the file that `KEYFile` names. The effective configuration does not show it.
    mutating func secret(
        _ key: String, expected: String = "a text", _ isAllowed: (String) -> Bool = { !$0.isEmpty }
    ) -> String? {
        let text = optionalText(key) { reader in
            reader.value(key, "", expected: expected, isSecret: true) {
                isAllowed($0) ? $0 : nil
            } show: { _ in
                "REDACTED"
            }
        }
        guard let lines = privateLines(insteadOf: key) else { return text }
        guard lines.count == 1, isAllowed(lines[0]) else {
            report("\(key)File: expected one line with \(expected) in the file")
            return nil
        }
        return lines[0]
    }

    /// Reads HTTP headers, `Name: value` each: the setting, or the lines of the file that `KEYFile` names. The effective configuration does
    /// not show the values.
    mutating func headers(_ key: String) -> [(name: String, value: String)] {
        let expected = "a list of headers like \"Authorization: Bearer x\""
        let headers = list(key, default: [], expected: expected, isSecret: true, parse: Self.parseHeader) { "\($0.name): REDACTED" }
        guard let lines = privateLines(insteadOf: key) else { return headers }
        let parsed = lines.compactMap(Self.parseHeader)
        if parsed.isEmpty || parsed.count != lines.count { report("\(key)File: expected \(expected) in the file, one a line") }
        return parsed
    }

    private static func parseHeader(_ text: String) -> (name: String, value: String)? {
        guard let colon = text.firstIndex(of: ":"), colon != text.startIndex else { return nil }
        return (String(text[..<colon]), text[text.index(after: colon)...].trimmingCharacters(in: .whitespaces))
    }

    /// Reads the lines of the file that holds a secret instead of the setting: mode 0600, or a credential of systemd.
    ///
    /// - Returns: The lines; nil if no file is set or the file cannot be used.
    private mutating func privateLines(insteadOf key: String) -> [String]? {
        let fileKey = key + "File"
        guard let path = optionalPath(fileKey) else { return nil }
        if isSet(key) { report("\(fileKey): conflicts with \(key); set only one of them") }
        do {
            if let bytes = try PrivateFile(path: path).read() {
                return String(decoding: bytes, as: UTF8.self).split(whereSeparator: \.isNewline).map(String.init)
            }
            report("\(fileKey): \(path) does not exist")
        } catch {
            report("\(fileKey): \(path): \(error)")
        }
        return nil
    }

    /// Reads the multiaddress of a Waku node, like `/dns4/…/tcp/30303/p2p/16Uiu2…`; nil if it is not set.
    mutating func multiaddress(_ key: String) -> String? {
        optional(key) { reader in
            reader.value(key, "", expected: "a multiaddress like /dns4/store.example.org/tcp/30303/p2p/16Uiu2HAm…") {
                $0.hasPrefix("/") && $0.contains("/p2p/") ? $0 : nil
            } show: {
                $0
            }
        }
    }

    /// Reads the path of a readable file; nil if it is not set.
    mutating func existingFile(_ key: String) -> String? {
        let path = optionalPath(key)
        if let path, !FileManager.default.isReadableFile(atPath: path) { report("\(key): \(path) does not exist or cannot be read") }
        return path
    }

    /// The names that the operator chose below a section.
    func names(below section: String) -> [String] {
        source.names(below: section)
    }

    /// Returns the names if they may contain dots: a name ends before one of these keys.
    func names(below section: String, before keys: [String]) -> [String] {
        source.names(below: section, before: keys)
    }

    /// Whether anything is set in a section.
    func has(section: String) -> Bool { source.has(section: section) }

    mutating func duration(_ key: String, default fallback: Duration, in range: ClosedRange<Duration>) -> Duration {
        let expected =
            "a duration like 500ms, 5s, 10m or 24h, from \(range.lowerBound.settingText) to \(range.upperBound.settingText)"
        return value(key, fallback, expected: expected) { text in
            Duration(settingText: text).flatMap { range.contains($0) ? $0 : nil }
        } show: {
            $0.settingText
        }
    }

    mutating func choice<Choice: RawRepresentable & CaseIterable>(_ key: String, default fallback: Choice) -> Choice
    where Choice.RawValue == String {
        let expected = "one of " + Choice.allCases.map(\.rawValue).joined(separator: ", ")
        return value(key, fallback, expected: expected) {
            Choice(rawValue: $0)
        } show: {
            $0.rawValue
        }
    }

    /// Reads the URL of a PostgreSQL database; nil if it is not set or cannot be used.
    mutating func postgreSQLURL(_ key: String) -> PostgreSQLLocation? {
        guard let url = optionalString(key) else { return nil }
        do {
            return try PostgreSQLLocation(url: url)
        } catch {
            report("\(key): \(error)")
            return nil
        }
    }

    /// Reads a name of letters, digits and `._-`.
    mutating func name(_ key: String, default fallback: String, maximumLength: Int) -> String {
        value(key, fallback, expected: "1 to \(maximumLength) letters, digits, dots, hyphens and underscores") {
            (1...maximumLength).contains($0.count) && $0.allSatisfy(HostName.isAllowed) ? $0 : nil
        } show: {
            $0
        }
    }

    /// Reads one of the cases; nil if it is not set.
    mutating func optionalChoice<Choice: RawRepresentable & CaseIterable>(_ key: String, of type: Choice.Type) -> Choice?
    where Choice.RawValue == String {
        guard let text = optionalString(key) else { return nil }
        return Choice(rawValue: text)
    }

    mutating func address(_ key: String, default fallback: ListenAddress) -> ListenAddress {
        value(key, fallback, expected: ListenAddress.expectation) {
            ListenAddress($0)
        } show: {
            $0.description
        }
    }

    /// An http or https URL without query or fragment. A user name and password in it are redacted in the effective configuration.
    mutating func url(_ key: String, default fallback: String) -> String {
        value(key, fallback, expected: Self.urlExpectation, isSecret: true, parse: Self.parseURL, show: Self.redact)
    }

    mutating func url(_ key: String) -> String? {
        optionalText(key) { reader in reader.url(key, default: "") }
    }

    mutating func urls(_ key: String) -> [String] {
        list(
            key, default: [], expected: "a list of URLs, each " + Self.urlExpectation, isSecret: true, isSet: true, parse: Self.parseURL,
            show: Self.redact)
    }

    mutating func addresses(_ key: String, default fallback: [ListenAddress]) -> [ListenAddress] {
        list(key, default: fallback, expected: "a list of " + ListenAddress.expectation) {
            ListenAddress($0)
        } show: {
            $0.description
        }
    }

    /// - Parameter isSet: Whether an element must not occur twice.
    mutating func list<Element>(
        _ key: String, default fallback: [Element], expected: String, isSecret: Bool = false, isSet: Bool = false,
        parse: (String) -> Element?, show: (Element) -> String
    ) -> [Element] {
        var elements = fallback
        if let found = source.find(key) {
            let texts =
                switch found.value {
                case .list(let texts): texts
                case .scalar(let text): text.split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) }
                }
            let parsed = texts.compactMap(parse)
            if parsed.isEmpty && !fallback.isEmpty || parsed.count != texts.count {
                refuse(found, expected: expected, isSecret: isSecret)
            } else {
                elements = parsed
            }
        }
        let shown = elements.map(show)
        if isSet, let twice = shown.first(where: { text in shown.count { $0 == text } > 1 }) { report("\(key): \(twice) is there twice") }
        effective.append(Effective(key: key, value: .list(shown)))
        return elements
    }

    /// Adds a problem, for example one that concerns several settings together.
    mutating func report(_ problem: String) {
        problems.append(problem)
    }

    /// Reports settings that exist in the source and were not read. Call this function after reading all settings.
    mutating func finish() {
        problems += source.unusable(besides: Set(effective.map(\.key)))
    }

    /// Reads a text; nil if it is not set or invalid.
    private mutating func optionalText(_ key: String, _ read: (inout SettingsReader) -> String) -> String? {
        optional(key, read).flatMap { $0.isEmpty ? nil : $0 }
    }

    private mutating func value<Value>(
        _ key: String, _ fallback: Value, expected: String, isSecret: Bool = false, allowsQuotes: Bool = true,
        parse: (String) -> Value?, show: (Value) -> String
    ) -> Value {
        var value = fallback
        if let found = source.find(key) {
            if found.isQuoted, !allowsQuotes {
                refuse(found, expected: "\(expected) without quotes", isSecret: isSecret)
            } else if case .scalar(let text) = found.value, let parsed = parse(text) {
                value = parsed
            } else {
                refuse(found, expected: expected, isSecret: isSecret)
            }
        }
        effective.append(Effective(key: key, value: .scalar(show(value))))
        return value
    }

    /// - Parameter isSecret: Whether the value may contain a secret, which the problem then does not show.
    private mutating func refuse(_ found: SettingsSource.Found, expected: String, isSecret: Bool) {
        let value = isSecret ? "" : ", found \(found.value.text)"
        problems.append("\(found.name): expected \(expected)\(value)" + (found.line.map { " (\($0))" } ?? ""))
    }

    // MARK: URLs

    private static let urlExpectation = "an http or https URL, with a port up to 65535 if with any, and without query"

    private static func parseURL(_ text: String) -> String? {
        guard let url = URLComponents(string: text), url.scheme == "http" || url.scheme == "https", url.host?.isEmpty == false,
            url.query == nil, url.fragment == nil, (1...65_535).contains(url.port ?? 80)
        else { return nil }
        return text
    }

    private static func redact(_ text: String) -> String {
        guard var url = URLComponents(string: text), url.user != nil || url.password != nil else { return text }
        url.user = "REDACTED"
        url.password = nil
        return url.string ?? "REDACTED"
    }
}

extension Duration {
    private static let settingUnits: [(suffix: String, milliseconds: Int64)] = [
        ("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000),
    ]

    /// Creates a duration from a whole number and a unit: `500ms`, `5s`, `10m`, `24h`.
    init?(settingText text: String) {
        for (suffix, milliseconds) in Self.settingUnits where text.hasSuffix(suffix) {
            guard let count = Int64(text.dropLast(suffix.count)), count >= 0 else { continue }
            let (product, overflow) = count.multipliedReportingOverflow(by: milliseconds)
            guard !overflow else { return nil }
            self = .milliseconds(product)
            return
        }
        return nil
    }

    /// The duration in the largest unit that needs no fraction.
    var settingText: String {
        let milliseconds = components.seconds * 1_000 + components.attoseconds / 1_000_000_000_000_000
        let unit = Self.settingUnits.last { milliseconds != 0 && milliseconds.isMultiple(of: $0.milliseconds) } ?? ("s", 1_000)
        return "\(milliseconds / unit.milliseconds)\(unit.suffix)"
    }
}
