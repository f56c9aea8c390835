import Glibc
package import Logging

package enum LogFormat: String, CaseIterable, Sendable {
    /// Time, level, module, message, and the metadata sorted by key.
    case text
    /// An object: `time`, `level`, `label`, `module`, `message`, and the metadata under its own keys.
    case json
}

/// Binds swift-log to standard error. Data goes to standard output.
package enum LoggingSetup {
    /// Call this function once, at a program's start.
    ///
    /// - Returns: The logger for the program's parts.
    package static func bootstrap(level: Logger.Level = .info, format: LogFormat = .text) -> Logger {
        // If the log's reader exits, the server must not end.
        signal(SIGPIPE, SIG_IGN)
        LoggingSystem.bootstrap { label in
            var handler = LineLogHandler(label: label, format: format, output: .standardError)
            handler.logLevel = level
            return handler
        }
        return Logger(label: "pushserver")
    }

    /// Writes why the server cannot run, in the log's format.
    package static func reportFatal(_ error: any Error, format: LogFormat) {
        let output = LogOutput.standardError
        if format == .json {
            let logger = Logger(label: "pushserver") { LineLogHandler(label: $0, format: format, output: output) }
            return logger.critical("the server cannot run", metadata: ["error": "\(error)"])
        }
        // The journal reads a priority from each line.
        for line in "pushserver: \(error)".split(separator: "\n") {
            output.write(output.line(.critical, line.utf8)) { _ in [] }
        }
    }
}

/// The report of log lines that could not be written.
enum LogLoss {
    static let message: Logger.Message = "log lines could not be written"
    static let source = "Observation"

    static func metadata(_ count: Int) -> Logger.Metadata { ["count": "\(count)"] }
}
