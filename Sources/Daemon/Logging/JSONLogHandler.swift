import Foundation
import Logging

/// One JSON object a line on standard error: `time`, `level`, `label`, `module`, `message`, and the metadata under its own keys.
struct JSONLogHandler: LogHandler {
    let label: String
    var logLevel: Logger.Level = .info
    var metadata: Logger.Metadata = [:]
    var metadataProvider: Logger.MetadataProvider?

    init(label: String) {
        self.label = label
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        var line: [String: String] = [:]
        for (key, value) in metadata { line[key] = "\(value)" }
        for (key, value) in metadataProvider?.get() ?? [:] { line[key] = "\(value)" }
        for (key, value) in event.metadata ?? [:] { line[key] = "\(value)" }
        line["time"] = Date.now.formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))
        line["level"] = event.level.rawValue
        line["label"] = label
        line["module"] = event.source
        line["message"] = event.message.description
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        guard var bytes = try? encoder.encode(line) else { return }
        bytes.append(UInt8(ascii: "\n"))
        // One write a line: lines of several threads do not mix.
        FileHandle.standardError.write(bytes)
    }
}
