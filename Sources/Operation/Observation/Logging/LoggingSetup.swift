import Glibc
package import Logging

package enum LogFormat: String, CaseIterable, Sendable {
    case text
    case json
}

/// Binds swift-log to standard error; data goes to standard output.
package enum LoggingSetup {
    /// Call this function once, at the start of a program.
    ///
    /// - Returns: The logger for the parts of the program.
    package static func bootstrap(level: Logger.Level = .info, format: LogFormat = .text) -> Logger {
        // A reader of the log that exits must not end the server.
        signal(SIGPIPE, SIG_IGN)
        LoggingSystem.bootstrap { label in
            var handler: any LogHandler =
                switch format {
                case .text: TextLogHandler(output: .standardError)
                case .json: JSONLogHandler(label: label, output: .standardError)
                }
            handler.logLevel = level
            return handler
        }
        return Logger(label: "pushserver")
    }
}

/// The report of log lines that could not be written.
enum LogLoss {
    static let message: Logger.Message = "log lines could not be written"
    static let source = "Daemon"

    static func metadata(_ count: Int) -> Logger.Metadata { ["count": "\(count)"] }
}
