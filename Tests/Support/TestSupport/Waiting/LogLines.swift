package import Logging
import Synchronization

/// A log that records lines of every level.
package final class LogLines: Sendable {
    private struct Handler: LogHandler {
        let lines: LogLines
        var metadata: Logger.Metadata = [:]
        var logLevel = Logger.Level.trace

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            let metadata = metadata.merging(event.metadata ?? [:]) { _, new in new }
            lines.recorder.append("\(event.level) \(event.message) \(metadata)")
        }
    }

    private let recorder = Recorder<String>()

    package init() {}

    /// The level, message and metadata of each line.
    package var all: [String] { recorder.all }

    package var logger: Logger { Logger(label: "test") { _ in Handler(lines: self) } }
}

/// A logger that discards all lines.
package let quietLogger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
