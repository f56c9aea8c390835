import Bytes
import Foundation
import Platform
import ServerFiles
import StatusCrypto
import Yams

/// A setting's value as text, before a reader gives it a type.
package enum SettingValue: Equatable, Sendable {
    case scalar(String)
    case list([String])

    package var text: String {
        switch self {
        case .scalar(let text): text
        case .list(let texts): "[\(texts.joined(separator: ", "))]"
        }
    }
}

/// The sources of settings: file, environment and flags. The later wins (INTERFACE.md, "Settings").
package struct SettingsSource: HoldsSecret, Sendable {
    /// A value and its origin, in words for an error message.
    package struct Found {
        package var value: SettingValue
        package var name: String
        /// The file and line, or nil for a value from the environment or the flags.
        package var line: String?
        /// Whether the value is in quotes in the file, which make a number or `true` a text.
        package var isQuoted = false
        /// The folder from which a relative path in the value starts: the file's folder for a value in the file, or else the working
        /// directory.
        fileprivate var folder: String

        /// The value of a setting that names a file or folder, as an absolute path.
        package var path: String { AbsolutePath.of(value.text, from: folder) }
    }

    package static let environmentPrefix = "PUSHSERVER_"
    /// The variable that names the configuration file, or none if it is empty. All others with the prefix are settings.
    package static let configurationFileVariable = "PUSHSERVER_CONFIG"

    private struct Entry {
        var value: SettingValue
        var line: Int
        var isQuoted = false
    }

    private var file: [String: Entry] = [:]
    package private(set) var problems: [String] = []
    /// Keys without a value in the file, and their lines. A section whose settings are all commented out is such a key, and valid.
    private var emptyKeys: [String: Int] = [:]
    private let hasFile: Bool
    private let fileName: String
    private let fileFolder: String
    private let environment: [String: String]
    private let flags: [String: String]

    /// Reads the given configuration file, or else the file that the environment names.
    ///
    /// - Throws: `SettingsError` if the file cannot be read. Errors in it are among the ``problems``.
    package init(file: String?, environment: [String: String], flags: [String: String] = [:]) throws(SettingsError) {
        let path = file ?? environment[Self.configurationFileVariable].flatMap { $0.isEmpty ? nil : $0 }
        var yaml: String?
        if let path {
            do {
                try RegularFile.check(path)
                yaml = try String(contentsOf: URL(filePath: path), encoding: .utf8)
            } catch {
                throw SettingsError(problems: ["configuration file \(path): \(Self.reason(for: error, path: path))"])
            }
        }
        self.init(yaml: yaml, fileName: path ?? "the configuration file", environment: environment, flags: flags)
    }

    /// - Parameters:
    ///   - yaml: The configuration file's text, or nil without a file.
    ///   - fileName: The file's name in error messages.
    ///   - environment: The process's environment. Names without the prefix are ignored.
    ///   - flags: The `key=value` pairs from the command line.
    package init(yaml: String?, fileName: String = "the configuration file", environment: [String: String], flags: [String: String]) {
        hasFile = yaml != nil
        self.fileName = fileName
        fileFolder = Self.folder(of: fileName)
        self.environment = environment.filter { name, value in
            name.hasPrefix(Self.environmentPrefix) && name != Self.configurationFileVariable && !Self.isOfKubernetes(name, value)
        }
        self.flags = flags
        guard let yaml else { return }
        do {
            guard let root = try Yams.compose(yaml: yaml) else { return }
            flatten(root, path: [])
        } catch {
            problems.append("\(fileName): \(Self.reason(for: error))")
        }
    }

    /// Whether Kubernetes has set the variable. It sets several for each service in the namespace, and those for a service called
    /// `pushserver` start with our prefix (https://kubernetes.io/docs/concepts/services-networking/service/#environment-variables).
    private static func isOfKubernetes(_ name: String, _ value: String) -> Bool {
        if name.hasSuffix("_PORT"), value.hasPrefix("tcp://") || value.hasPrefix("udp://") || value.hasPrefix("sctp://") { return true }
        return name.wholeMatch(of: /.*_SERVICE_(HOST|PORT(_[A-Z0-9_]+)?)|.*_PORT_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?/) != nil
    }

    /// The sources of settings other than the defaults, without values. The later wins.
    package var origins: [String] {
        let all = (hasFile ? [fileName] : []) + environment.keys.sorted() + flags.keys.sorted().map { "flag \($0)" }
        return all.isEmpty ? ["defaults"] : all
    }

    /// The configuration file's absolute path, or nil without a file.
    package var configurationFile: String? { hasFile ? AbsolutePath.of(fileName, from: AbsolutePath.workingDirectory) : nil }

    package func find(_ key: String) -> Found? {
        if let text = flags[key] { return Found(value: .scalar(text), name: "flag \(key)", folder: AbsolutePath.workingDirectory) }
        let variable = Self.variable(for: key)
        if let text = environment[variable] { return Found(value: .scalar(text), name: variable, folder: AbsolutePath.workingDirectory) }
        return file[key].map {
            Found(value: $0.value, name: key, line: "\(fileName), line \($0.line)", isQuoted: $0.isQuoted, folder: fileFolder)
        }
    }

    private static func reason(for error: any Error, path: String) -> String {
        guard FileManager.default.fileExists(atPath: path) else { return "the file does not exist" }
        guard (try? URL(filePath: path).resourceValues(forKeys: [.isDirectoryKey]))?.isDirectory != true else {
            return "expected a file, found a folder; name a file in it, like \(path)/pushserver.yaml"
        }
        if let error = error as? RegularFileError { return "\(error)" }
        return FileManager.default.isReadableFile(atPath: path)
            ? "the file cannot be read as UTF-8: \(error.localizedDescription)" : "no permission to read the file"
    }

    /// Returns the reason why a text is not YAML. Yams' own description quotes the text, which may contain a secret.
    private static func reason(for error: any Error) -> String {
        switch error {
        case YamlError.duplicatedKeysInMapping(let keys, let context):
            let section = context.mark.line > 1 ? " in the section that begins at line \(context.mark.line)" : ""
            return "\(Set(keys).sorted().joined(separator: ", ")): the key is set twice\(section); keep one of them"
        case YamlError.scanner(_, let problem, let mark, _), YamlError.parser(_, let problem, let mark, _),
            YamlError.composer(_, let problem, let mark, _):
            return "not YAML: \(problem) (line \(mark.line))"
        default: return "not YAML"
        }
    }

    private static func folder(of file: String) -> String {
        guard let slash = file.lastIndex(of: "/") else { return AbsolutePath.workingDirectory }
        return slash == file.startIndex ? "/" : AbsolutePath.of(String(file[..<slash]), from: AbsolutePath.workingDirectory)
    }

    /// Returns the names in the file below a section whose keys the operator chooses, like `gorush.routes`.
    package func names(below section: String) -> [String] {
        let names = (Array(file.keys) + emptyKeys.keys).filter { $0.hasPrefix(section + ".") }.compactMap {
            $0.dropFirst(section.count + 1).split(separator: ".").first.map { String($0) }
        }
        return Set(names).sorted()
    }

    /// Returns the names if they may contain dots. Each name ends before a key from this list.
    package func names(below section: String, before keys: [String]) -> [String] {
        let names = file.keys.filter { $0.hasPrefix(section + ".") }.compactMap { key -> String? in
            let rest = key.dropFirst(section.count + 1)
            return keys.first { rest.hasSuffix("." + $0) }.map { String(rest.dropLast($0.count + 1)) }
        }
        return Set(names).sorted()
    }

    /// Whether anything is set in a section.
    package func has(section: String) -> Bool {
        let variable = Self.variable(for: section) + "_"
        return file.keys.contains { $0.hasPrefix(section + ".") }
            || emptyKeys.keys.contains { $0 == section || $0.hasPrefix(section + ".") }
            || environment.keys.contains { $0.hasPrefix(variable) } || flags.keys.contains { $0.hasPrefix(section + ".") }
    }

    /// Returns a problem for each key that is unknown or lacks a value.
    ///
    /// - Parameter sections: The sections whose names the operator chooses. Their reader reports an empty section if that is wrong.
    package func unusable(besides known: Set<String>, sections: Set<String> = []) -> [String] {
        let empty = emptyKeys.sorted { $0.value < $1.value }.compactMap { key, line -> String? in
            if sections.contains(key) { return nil }
            if known.contains(key) { return "\(key): no value in \(fileName), line \(line); leave the key out for its default" }
            return known.contains { $0.hasPrefix(key + ".") } ? nil : unknown(key, in: "\(fileName), line \(line)", known)
        }
        let inFile = file.filter { !known.contains($0.key) }.sorted { $0.value.line < $1.value.line }.map { key, entry in
            unknown(key, in: "\(fileName), line \(entry.line)", known)
        }
        let variables = Set(known.map { Self.variable(for: $0) })
        let inEnvironment = environment.keys.filter { !variables.contains($0) }.sorted().map { name in
            "\(name): no such setting in the environment" + Self.advice(for: name, among: variables)
        }
        return empty + inFile + inEnvironment
            + flags.keys.filter { !known.contains($0) }.sorted().map { unknown($0, in: "the flags", known) }
    }

    private func unknown(_ key: String, in place: String, _ known: Set<String>) -> String {
        // The setting with the fewest levels is the clearest example: gorush.url rather than gorush.android.android.ttl.
        let below = known.filter { $0.hasPrefix(key + ".") }.map { (depth: $0.split(separator: ".").count, name: $0) }
        if let setting = below.min(by: <)?.name {
            return "\(key): expected a section with settings like \(setting), found a single value (\(place))"
        }
        if let setting = known.first(where: { key.hasPrefix($0 + ".") }) {
            return "\(setting): expected a value, found a section (\(place))"
        }
        return "\(key): no such setting in \(place)" + Self.advice(for: key, among: known)
    }

    /// What to do about a setting that does not exist, or no longer.
    private static func advice(for name: String, among known: Set<String>) -> String {
        for (section, types, text) in formerTexts where name.contains(section) {
            return "; \(name.replacing(section, with: types))\(text) replaces it"
        }
        return removed[name].map { "; \($0)" } ?? suggestion(for: name, among: known)
    }

    /// The sections that notifications' texts had until 0.2, as settings and in the environment, each with the parts of the new name.
    private static let formerTexts = [
        (".texts.", ".types.", ".text"), (".locKeys.", ".types.", ".locKey"), ("_TEXTS_", "_TYPES_", "_TEXT"),
        ("_LOC_KEYS_", "_TYPES_", "_LOC_KEY"),
    ]

    /// What to do about settings that no longer exist.
    private static let removed = Dictionary(
        uniqueKeysWithValues: ["gorush.feedbackSecret", "gorush.feedbackSecretFile"].map {
            ($0, "delete it, and core.feedback_hook_url in gorush's configuration: a gorush in sync mode reports failures in its responses")
        })

    /// Returns the name with the smallest edit distance as a question, or empty if all names differ too much.
    private static func suggestion(for name: String, among known: some Sequence<String>) -> String {
        let nearest = known.map { (name: $0, distance: EditDistance.between(name.lowercased(), $0.lowercased())) }
            .min { ($0.distance, $0.name) < ($1.distance, $1.name) }
        guard let nearest, nearest.distance <= max(2, name.count / 5) else { return "" }
        return "; is \(nearest.name) meant?"
    }

    /// Returns the environment variable for a setting: `PUSHSERVER_TRANSPORT_PUBSUB_TOPICS` for `transport.pubsubTopics`.
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

    private mutating func flatten(_ node: Node, path: [String], line: Int = 1) {
        let key = path.joined(separator: ".")
        switch node {
        case .mapping(let mapping):
            if mapping.isEmpty, !path.isEmpty { emptyKeys[key] = line }
            for (name, value) in mapping {
                guard let text = name.string else {
                    problems.append("\(path.isEmpty ? "the file" : key): a key is not text in \(fileName), line \(name.mark?.line ?? line)")
                    continue
                }
                flatten(value, path: path + [text], line: name.mark?.line ?? line)
            }
        case .scalar(let scalar):
            if path.isEmpty {
                problems.append("\(fileName): expected settings, found a single value")
            } else if node.null != nil {
                emptyKeys[key] = line
            } else {
                let isQuoted = scalar.style == .singleQuoted || scalar.style == .doubleQuoted
                file[key] = Entry(value: .scalar(scalar.string), line: line, isQuoted: isQuoted)
            }
        case .sequence(let sequence):
            let texts = sequence.compactMap { $0.scalar?.string }
            // In a list, a section's name is its index.
            if !path.isEmpty, !sequence.isEmpty, sequence.allSatisfy({ $0.mapping != nil }) {
                for (index, node) in sequence.enumerated() { flatten(node, path: path + [String(index)], line: line) }
            } else if path.isEmpty || texts.count != sequence.count {
                problems.append("\(key.isEmpty ? fileName : key): expected a list of plain values (\(fileName), line \(line))")
            } else {
                file[key] = Entry(value: .list(texts), line: line)
            }
        case .alias:
            problems.append("\(key): an alias without its anchor in \(fileName), line \(line)")
        }
    }
}

/// All problems in a configuration.
package struct SettingsError: Error, CustomStringConvertible {
    package var problems: [String]

    package init(problems: [String]) { self.problems = problems }

    package var description: String { problems.joined(separator: "\n") }
}

/// The Levenshtein distance: how many letters to insert, delete or replace to turn a word into another.
private enum EditDistance {
    static func between(_ left: String, _ right: String) -> Int {
        let right = Array(right)
        var row = Array(0...right.count)
        for (index, character) in left.enumerated() {
            var diagonal = row[0]
            row[0] = index + 1
            for column in right.indices {
                let change = diagonal + (right[column] == character ? 0 : 1)
                diagonal = row[column + 1]
                row[column + 1] = min(change, row[column] + 1, diagonal + 1)
            }
        }
        return row[right.count]
    }
}
