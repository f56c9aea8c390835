import Foundation
import Platform

/// The service on this machine as its package installs it: the configuration file, and what systemd gives the unit.
package struct InstalledService: Sendable {
    static let unit = "pushserver.service"

    package static let pushserver = InstalledService(configurationFile: "/etc/pushserver/pushserver.yaml", unitProperties: systemctl)

    package let configurationFile: String
    private let unitProperties: @Sendable () throws(SettingsError) -> String?

    /// - Parameter unitProperties: Returns what `systemctl show` prints about the unit, or nil without systemd.
    package init(configurationFile: String, unitProperties: @escaping @Sendable () throws(SettingsError) -> String?) {
        self.configurationFile = configurationFile
        self.unitProperties = unitProperties
    }

    /// Whether the configuration file exists, or may exist in a folder that only others can search.
    package var isInstalled: Bool { unsafe access(configurationFile, F_OK) == 0 || errno == EACCES }

    /// Returns the settings and folders among the unit's variables, or none without systemd or the unit.
    ///
    /// - Throws: `SettingsError` if systemd doesn't tell, or a file with variables cannot be read.
    func environment() throws(SettingsError) -> [String: String] {
        var variables: [String: String] = [:]
        var filed: [String: String] = [:]
        for line in try unitProperties()?.split(separator: "\n") ?? [] {
            let (name, value) = Self.pair(line)
            switch name {
            case "Environment":
                for word in Self.unquoted(value, isList: true) {
                    let (name, value) = Self.pair(word[...])
                    variables[String(name)] = String(value)
                }
            case "EnvironmentFiles": try Self.readFile(value, into: &filed)
            case "StateDirectory":
                // `pushserver`, or several names.
                if let folder = value.split(separator: " ").first { variables["STATE_DIRECTORY"] = "/var/lib/\(folder)" }
            default: break
            }
        }
        // A file wins over the unit (systemd.exec(5)). The unit names its configuration file with --config, which wins over a variable.
        return variables.merging(filed) { $1 }.filter { name, _ in
            name == "STATE_DIRECTORY"
                || name.hasPrefix(SettingsSource.environmentPrefix)
                    && name != SettingsSource.configurationFileVariable
        }
    }

    /// Asks systemd, if it manages this machine (sd_booted(3)).
    private static func systemctl() throws(SettingsError) -> String? {
        guard FileManager.default.fileExists(atPath: "/run/systemd/system") else { return nil }
        let command = "systemctl show \(unit) --property=Environment --property=EnvironmentFiles --property=StateDirectory"
        // Foundation's Process may miss the exit of a short-lived child.
        guard let pipe = unsafe popen(command + " 2>/dev/null", "r") else { throw SettingsError(problems: ["\(command) cannot run"]) }
        let output = unsafe FileHandle(fileDescriptor: fileno(pipe), closeOnDealloc: false)
        let text = String(decoding: (try? output.readToEnd()) ?? Data(), as: UTF8.self)
        guard unsafe pclose(pipe) == 0 else {
            throw SettingsError(problems: ["systemd does not tell the variables of \(unit): `\(command)` fails"])
        }
        return text
    }

    /// Reads a file with variables, as systemd prints its name: `/etc/default/pushserver (ignore_errors=yes)`.
    private static func readFile(_ property: Substring, into variables: inout [String: String]) throws(SettingsError) {
        let path = property.split(separator: " (ignore_errors=").first.map(String.init) ?? ""
        guard !path.contains(where: { "*?[".contains($0) }) else {
            throw SettingsError(problems: ["EnvironmentFile=\(path) of \(unit) is a pattern, which this command does not follow"])
        }
        let text: String
        do {
            let descriptor = try RegularFile.open(path)
            let file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
            text = String(decoding: (try? file.readToEnd()) ?? Data(), as: UTF8.self)
        } catch .inaccessible(ENOENT) where property.hasSuffix("=yes)") {
            return
        } catch {
            throw SettingsError(problems: ["variables of \(unit), \(path): \(error.description)"])
        }
        for line in text.replacing("\\\n", with: "").split(whereSeparator: \.isNewline) {
            let (name, value) = (trimmed(pair(line).name), trimmed(pair(line).value))
            guard !name.hasPrefix("#"), !name.hasPrefix(";"), line.contains("=") else { continue }
            variables[name] = unquoted(value[...], isList: false).first ?? ""
        }
    }

    private static func trimmed(_ text: Substring) -> String { text.trimmingCharacters(in: .whitespaces) }

    private static func pair(_ text: Substring) -> (name: Substring, value: Substring) {
        let name = text.prefix { $0 != "=" }
        return (name, text.dropFirst(name.count + 1))
    }

    /// Removes a shell's quotes and backslashes.
    ///
    /// - Parameter isList: Whether blanks outside quotes separate words.
    private static func unquoted(_ text: Substring, isList: Bool) -> [String] {
        var words: [String] = []
        var word: String?
        var quote: Character?
        var characters = text.makeIterator()
        while let character = characters.next() {
            switch (character, quote) {
            case ("\\", nil), ("\\", "\""):
                guard let next = characters.next() else { break }
                word = (word ?? "") + (quote == nil || "\"\\`$".contains(next) ? "\(next)" : "\\\(next)")
            case ("\"", nil), ("'", nil):
                quote = character
                word = word ?? ""
            case (_, let open?) where open == character: quote = nil
            case (" ", nil) where isList:
                word.map { words.append($0) }
                word = nil
            default: word = (word ?? "") + String(character)
            }
        }
        return words + [word].compactMap(\.self)
    }
}
