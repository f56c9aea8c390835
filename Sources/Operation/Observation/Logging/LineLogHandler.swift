import Foundation
import Logging

/// Writes each event as a line.
struct LineLogHandler: LogHandler {
    let label: String
    let format: LogFormat
    let output: LogOutput
    var logLevel: Logger.Level = .info
    var metadata: Logger.Metadata = [:]
    var metadataProvider: Logger.MetadataProvider?

    init(label: String, format: LogFormat, output: LogOutput) {
        self.label = label
        self.format = format
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
        let time = Date.now.formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))
        switch format {
        case .text:
            let fields = metadata.sorted { $0.key < $1.key }.map { " \($0.key)=\(Self.quoted("\($0.value)"))" }.joined()
            return output.line(level, "\(time) \(level) [\(source)] \(message)\(fields)".utf8)
        case .json:
            let fields = metadata.mapValues { "\($0)" }.merging(
                ["time": time, "level": level.rawValue, "label": label, "module": source, "message": message.description]
            ) { $1 }
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
            // Strings as keys and values can always be encoded.
            return output.line(level, (try? encoder.encode(fields)) ?? Data())
        }
    }

    /// Quotes a value whose end could not be seen otherwise, and escapes what would control a terminal.
    private static func quoted(_ value: String) -> String {
        let isPlain =
            !value.isEmpty && value.unicodeScalars.allSatisfy { $0 != " " && $0 != "\"" && $0 != "=" && !$0.isControl }
        guard !isPlain else { return value }
        let escaped = value.unicodeScalars.map { scalar in
            switch scalar {
            case "\\", "\"": "\\\(scalar)"
            case "\n": "\\n"
            case _ where scalar.isControl: "\\u{\(String(scalar.value, radix: 16))}"
            default: String(scalar)
            }
        }
        return "\"\(escaped.joined())\""
    }
}

extension Unicode.Scalar {
    fileprivate var isControl: Bool { properties.generalCategory == .control }
}
