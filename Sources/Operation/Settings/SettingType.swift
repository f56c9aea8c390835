import Foundation
import WakuREST

/// A setting's type: how its text is read, and how the effective configuration shows its value.
struct SettingType<Value> {
    /// The valid values in words, for an error.
    var expected: String
    /// The valid list elements in words. Nil means the same words as for a single value.
    var plural: String?
    /// Whether the text may contain a secret, which no error shows.
    var isSecret = false
    /// Whether the file may have the value in quotes.
    var allowsQuotes = true
    /// Whether the text is a path. A relative path starts from the folder of the configuration file if it is in the file, or else from the
    /// working directory.
    var isPath = false
    var parse: (String) -> Value?
    var show: (Value) -> String
}

extension SettingType where Value: CustomStringConvertible {
    init(_ expected: String, _ parse: @escaping (String) -> Value?) {
        self.init(expected: expected, parse: parse, show: \.description)
    }
}

extension SettingType<String> {
    static var text: SettingType { text("a text") }

    static var path: SettingType { SettingType(expected: "a path", isPath: true, parse: { $0.isEmpty ? nil : $0 }, show: { $0 }) }

    static func oneOf(_ words: [String]) -> SettingType {
        SettingType("one of " + words.joined(separator: ", ")) { words.contains($0) ? $0 : nil }
    }

    static func text(_ expected: String) -> SettingType { SettingType(expected) { $0.isEmpty ? nil : $0 } }

    /// A host name without port.
    static func host(_ expected: String) -> SettingType {
        SettingType(expected) { text in
            text.isEmpty || text.contains { $0 == "/" || $0 == ":" || $0 == "*" || $0.isWhitespace } ? nil : text.lowercased()
        }
    }

    /// Between 1 and `maximumLength` letters, digits and `._-`.
    static func name(maximumLength: Int) -> SettingType {
        SettingType("1 to \(maximumLength) letters, digits, dots, hyphens and underscores") {
            (1...maximumLength).contains($0.count) && $0.allSatisfy(HostName.isAllowed) ? $0 : nil
        }
    }

    /// A Waku node's multiaddress.
    static var multiaddress: SettingType {
        SettingType("a multiaddress like /dns4/store.example.org/tcp/30303/p2p/16Uiu2HAm…") {
            $0.hasPrefix("/") && $0.contains("/p2p/") ? $0 : nil
        }
    }

    /// A static shard, `/waku/2/rs/CLUSTER/SHARD`, with numbers of 16 bits (WAKU_REST.md §2.5).
    static var pubsubTopic: SettingType {
        SettingType("topics like /waku/2/rs/16/32") { PubsubTopic.isStaticShard($0) ? $0 : nil }
    }

    /// An http or https URL without query or fragment. The effective configuration redacts its user name and password.
    static var url: SettingType {
        SettingType(
            expected: urlExpectation, plural: "URLs, each " + urlExpectation, isSecret: true,
            parse: { text in
                guard let url = URLComponents(string: text), url.scheme == "http" || url.scheme == "https", url.host?.isEmpty == false,
                    url.query == nil, url.fragment == nil, (1...65_535).contains(url.port ?? 80)
                else { return nil }
                return text
            },
            show: { text in
                guard var url = URLComponents(string: text), url.user != nil || url.password != nil else { return text }
                url.user = "REDACTED"
                url.password = nil
                return url.string ?? "REDACTED"
            })
    }

    private static var urlExpectation: String { "an http or https URL without query, such as http://127.0.0.1:8645" }

    /// A text that neither an error nor the effective configuration shows.
    static func secret(_ expected: String = "a text") -> SettingType {
        SettingType(expected: expected, isSecret: true, parse: { $0.isEmpty ? nil : $0 }, show: { _ in "REDACTED" })
    }
}

extension SettingType<Bool> {
    static var bool: SettingType { SettingType("true or false") { $0 == "true" ? true : $0 == "false" ? false : nil } }
}

extension SettingType<Int> {
    static func integer(_ range: ClosedRange<Int>) -> SettingType {
        SettingType("a whole number from \(range.lowerBound) to \(range.upperBound)") {
            Int($0).flatMap { range.contains($0) ? $0 : nil }
        }
    }
}

extension SettingType<Duration> {
    static func duration(from minimum: Duration, to maximum: Duration) -> SettingType {
        SettingType(
            expected: "a duration like 500ms, 5s, 10m or 24h, from \(minimum.settingText) to \(maximum.settingText)",
            parse: { Duration(settingText: $0).flatMap { (minimum...maximum).contains($0) ? $0 : nil } }, show: \.settingText)
    }
}

extension SettingType where Value: RawRepresentable & CaseIterable, Value.RawValue == String {
    static var choice: SettingType {
        SettingType(
            expected: "one of " + Value.allCases.map(\.rawValue).joined(separator: ", "), parse: { Value(rawValue: $0) }, show: \.rawValue)
    }
}

extension SettingType<ListenAddress> {
    static var address: SettingType { SettingType(ListenAddress.expectation) { ListenAddress($0) } }
}

/// An HTTP header, `Name: value`.
typealias Header = (name: String, value: String)

extension SettingType<Header> {
    static var header: SettingType {
        SettingType(
            expected: "headers like \"Authorization: Bearer x\"", isSecret: true,
            parse: { text in
                guard let colon = text.firstIndex(of: ":"), colon != text.startIndex else { return nil }
                return (String(text[..<colon]), text[text.index(after: colon)...].trimmingCharacters(in: .whitespaces))
            }, show: { "\($0.name): REDACTED" })
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

    /// The duration in the largest unit in which it is a whole number.
    package var settingText: String {
        let milliseconds = components.seconds * 1_000 + components.attoseconds / 1_000_000_000_000_000
        let unit = Self.settingUnits.last { milliseconds != 0 && milliseconds.isMultiple(of: $0.milliseconds) } ?? ("s", 1_000)
        return "\(milliseconds / unit.milliseconds)\(unit.suffix)"
    }
}
