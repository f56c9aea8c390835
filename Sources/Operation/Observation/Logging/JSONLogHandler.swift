import Foundation
import Logging

/// Writes each event as a line with a JSON object: `time`, `level`, `label`, `module`, `message`, and the metadata under its own keys.
struct JSONLogHandler: LogHandler {
    let label: String
    let output: LogOutput
    var logLevel: Logger.Level = .info
    var metadata: Logger.Metadata = [:]
    var metadataProvider: Logger.MetadataProvider?

    init(label: String, output: LogOutput) {
        self.label = label
        self.output = output
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        let metadata = metadata.merging(metadataProvider?.get() ?? [:]) { $1 }.merging(event.metadata ?? [:]) { $1 }
        output.write(line(event.level, event.message, metadata, source: event.source)) { count in
            line(.warning, LogLoss.message, LogLoss.metadata(count), source: LogLoss.source)
        }
    }

    private func line(_ level: Logger.Level, _ message: Logger.Message, _ metadata: Logger.Metadata, source: String) -> [UInt8] {
        var fields = metadata.mapValues { "\($0)" }
        fields["time"] = Date.now.formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))
        fields["level"] = level.rawValue
        fields["label"] = label
        fields["module"] = source
        fields["message"] = message.description
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        // Strings as keys and values can always be encoded.
        return output.line(level, (try? encoder.encode(fields)) ?? Data())
    }
}
