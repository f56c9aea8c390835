import Foundation
import Yams

/// One value of a setting as it was written, before anybody asked for its type.
enum SettingValue: Equatable, Sendable {
    case scalar(String)
    case list([String])
}

/// The three places a setting can come from; the later wins: file, environment, flags (INTERFACE.md, "Settings").
package struct SettingsSource: Sendable {
    /// A value and where it stands, in words for an error message.
    struct Found {
        var value: SettingValue
        var place: String
    }

    package static let environmentPrefix = "PUSHSERVER_"
    /// Names the configuration file; the one variable with the prefix that is no setting.
    package static let configurationFileVariable = "PUSHSERVER_CONFIG"

    private(set) var file: [String: SettingValue] = [:]
    private(set) var problems: [String] = []
    /// Keys that stand in the file without a value: right for a section whose settings are all commented out.
    private var emptyKeys: [String] = []
    private let fileName: String
    private let environment: [String: String]
    private let flags: [String: String]

    /// - Parameters:
    ///   - yaml: text of the configuration file, if there is one.
    ///   - fileName: how error messages call it.
    ///   - environment: all of the process's environment; only names with the prefix are looked at.
    ///   - flags: `key=value` pairs of the command line.
    package init(yaml: String?, fileName: String = "the configuration file", environment: [String: String], flags: [String: String]) {
        self.fileName = fileName
        self.environment = environment.filter {
            $0.key.hasPrefix(Self.environmentPrefix) && $0.key != Self.configurationFileVariable
        }
        self.flags = flags
        guard let yaml else { return }
        do {
            guard let root = try Yams.compose(yaml: yaml) else { return }
            flatten(root, path: [])
        } catch {
            problems.append("\(fileName): not YAML: \(error)")
        }
    }

    func find(_ key: String) -> Found? {
        if let text = flags[key] { return Found(value: .scalar(text), place: "flag \(key)") }
        let variable = Self.variable(for: key)
        if let text = environment[variable] { return Found(value: .scalar(text), place: variable) }
        return file[key].map { Found(value: $0, place: key) }
    }

    /// The names that stand in the file below a section whose keys are the operator's own, like `gorush.routes`.
    func names(below section: String) -> [String] {
        let names = file.keys.filter { $0.hasPrefix(section + ".") }.compactMap {
            $0.dropFirst(section.count + 1).split(separator: ".").first.map { String($0) }
        }
        return Set(names).sorted()
    }

    /// The same where a name may hold dots: it ends before one of these keys.
    func names(below section: String, before keys: [String]) -> [String] {
        let names = file.keys.filter { $0.hasPrefix(section + ".") }.compactMap { key -> String? in
            let rest = key.dropFirst(section.count + 1)
            return keys.first { rest.hasSuffix("." + $0) }.map { String(rest.dropLast($0.count + 1)) }
        }
        return Set(names).sorted()
    }

    /// Whether anything is set in a section.
    func has(section: String) -> Bool {
        let variable = Self.variable(for: section) + "_"
        return file.keys.contains { $0.hasPrefix(section + ".") } || emptyKeys.contains { $0 == section || $0.hasPrefix(section + ".") }
            || environment.keys.contains { $0.hasPrefix(variable) } || flags.keys.contains { $0.hasPrefix(section + ".") }
    }

    /// Everything that was written and is no setting, or has no value.
    func unusable(besides known: Set<String>) -> [String] {
        let variables = Set(known.map { Self.variable(for: $0) })
        return emptyKeys.filter { known.contains($0) }.map { "\($0): no value in \(fileName); leave the key out for its default" }
            + emptyKeys.filter { key in !known.contains { $0 == key || $0.hasPrefix(key + ".") } }
            .map { "\($0): no such setting in \(fileName)" }
            + file.keys.filter { !known.contains($0) }.sorted().map { "\($0): no such setting in \(fileName)" }
            + environment.keys.filter { !variables.contains($0) }.sorted().map { "\($0): no such setting in the environment" }
            + flags.keys.filter { !known.contains($0) }.sorted().map { "\($0): no such setting among the flags" }
    }

    /// `transport.pubsubTopics` is `PUSHSERVER_TRANSPORT_PUBSUB_TOPICS`.
    package static func variable(for key: String) -> String {
        var name = environmentPrefix
        for character in key {
            if character == "." || character == "-" {
                name += "_"
            } else if character.isUppercase {
                name += "_" + String(character)
            } else {
                name += character.uppercased()
            }
        }
        return name
    }

    private mutating func flatten(_ node: Node, path: [String]) {
        let key = path.joined(separator: ".")
        switch node {
        case .mapping(let mapping):
            for (name, value) in mapping {
                guard let name = name.string else {
                    problems.append("\(key): a key that is no text in \(fileName)")
                    continue
                }
                flatten(value, path: path + [name])
            }
        case .scalar(let scalar):
            if path.isEmpty {
                problems.append("\(fileName): expected settings, found a single value")
            } else if node.null != nil {
                emptyKeys.append(key)
            } else {
                file[key] = .scalar(scalar.string)
            }
        case .sequence(let sequence):
            let texts = sequence.compactMap { $0.scalar?.string }
            // A list of sections: each has its number for a name.
            if !path.isEmpty, !sequence.isEmpty, sequence.allSatisfy({ $0.mapping != nil }) {
                for (index, node) in sequence.enumerated() { flatten(node, path: path + [String(index)]) }
            } else if path.isEmpty || texts.count != sequence.count {
                problems.append("\(key.isEmpty ? fileName : key): expected a list of plain values")
            } else {
                file[key] = .list(texts)
            }
        case .alias:
            problems.append("\(key): an alias that points nowhere in \(fileName)")
        }
    }
}
