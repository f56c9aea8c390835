package import Logging

/// Binds swift-log to standard error: data goes to standard output, the rest here.
package enum LoggingSetup {
    /// To be called once, at the start of a program.
    ///
    /// - Returns: the logger for the parts of the program.
    package static func bootstrap(level: Logger.Level = .info, format: Settings.LogFormat = .text) -> Logger {
        LoggingSystem.bootstrap { label in
            var handler: any LogHandler =
                switch format {
                case .text: TextLogHandler()
                case .json: JSONLogHandler(label: label)
                }
            handler.logLevel = level
            return handler
        }
        return Logger(label: "pushserver")
    }
}
