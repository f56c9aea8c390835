#if DEBUG || FUZZER

    @testable import Settings

    extension FuzzTarget {
        /// The text of a configuration file and, behind a zero byte, lines of an environment. Memory has no bound, because the operator is
        /// trusted.
        static let settings = FuzzTarget(name: "settings", vectors: [], samples: samples) { input throws(Violation) in
            // The parser compares each unknown name with each setting.
            let parts = input.prefix(1_024).split(separator: 0, maxSplits: 1).map { String(decoding: $0, as: UTF8.self) }
            var environment: [String: String] = [:]
            for line in parts.dropFirst().first?.split(separator: "\n") ?? [] {
                let halves = line.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
                environment[SettingsSource.environmentPrefix + halves[0]] = halves.count > 1 ? String(halves[1]) : ""
            }
            let shown: String
            do throws(SettingsError) {
                // Secrets appear redacted.
                shown = try read(parts.first ?? "", environment).effectiveYAML
            } catch {
                return try expect(!error.problems.isEmpty, "a rejection lists a problem")
            }
            let again: String
            do throws(SettingsError) {
                again = try read(shown, [:]).effectiveYAML
            } catch {
                throw Violation(property: "the output of check-config is a configuration: \(error)")
            }
            try expect(again == shown, "the output of check-config reads back to the same")
        }

        private static let samples = [
            "transport: {kind: waku, waku: {urls: [http://127.0.0.1:8645, http://127.0.0.1:8646], pollInterval: 500ms}}\n"
                + "log: {level: debug}",
            "gorush:\n  url: http://127.0.0.1:8088\n  headers: [\"Authorization: Bearer x\"]\nstorage: {path: \"null\"}\n",
            "admin: {listen: '[::1]:0', allowedHosts: [Push.example.org]}\nstorage: {path: \"~\"}",
            "{}\0LOG_LEVEL=trace\nSTORAGE_PATH=/a b\nGORUSH_URL=https://example.org/gorush",
        ]

        private static func read(_ yaml: String, _ environment: [String: String]) throws(SettingsError) -> Settings {
            try Settings(SettingsSource(yaml: yaml, environment: environment, flags: [:]), environment: environment)
        }
    }
#endif
