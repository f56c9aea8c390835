import Foundation
import Logging

/// A line for people on standard error: time, level, module, message, and then the fields, by name: what happened is found at one place,
/// whatever else is said of it.
struct TextLogHandler: LogHandler {
    var logLevel: Logger.Level = .info
    var metadata: Logger.Metadata = [:]
    var metadataProvider: Logger.MetadataProvider?

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        let all = metadata.merging(metadataProvider?.get() ?? [:]) { $1 }.merging(event.metadata ?? [:]) { $1 }
        let fields = all.sorted { $0.key < $1.key }.map { " \($0.key)=\(Self.quoted("\($0.value)"))" }.joined()
        let time = Date.now.formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))
        // One write a line: lines of several threads do not mix.
        FileHandle.standardError.write(Data("\(time) \(event.level) [\(event.source)] \(event.message)\(fields)\n".utf8))
    }

    /// Quoted where it would not be seen where a value ends.
    private static func quoted(_ value: String) -> String {
        let isPlain = !value.isEmpty && value.unicodeScalars.allSatisfy { $0.value > 0x20 && $0 != "\"" && $0 != "=" }
        guard !isPlain else { return value }
        return "\"" + value.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"").replacing("\n", with: "\\n") + "\""
    }
}
