import ArgumentParser
import Observation
import Settings

/// The options that name the configuration, for all commands that need it.
struct ConfigurationOptions: ParsableArguments {
    @Option(help: "Configuration file (YAML); also from PUSHSERVER_CONFIG. Without a file the defaults apply.", completion: .file())
    var config: String?

    @Option(
        parsing: .singleValue, help: "A setting, like --set gorush.url=http://127.0.0.1:8088. Overrides file and environment.",
        transform: { text in
            guard let equals = text.firstIndex(of: "="), equals != text.startIndex else {
                throw ValidationError("'\(text)' is not KEY=VALUE")
            }
            return (String(text[..<equals]), String(text[text.index(after: equals)...]))
        })
    var set: [(String, String)] = []

    func settings() throws -> Settings { try Settings.load(file: config, flags: flags) }

    /// The log's format, even if other settings have errors, or `text` if it cannot be read.
    var logFormat: LogFormat { Settings.logFormat(file: config, flags: flags) }

    private var flags: [String: String] { Dictionary(set, uniquingKeysWith: { _, last in last }) }
}
