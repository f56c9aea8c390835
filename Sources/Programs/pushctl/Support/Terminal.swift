import Foundation

/// The terminal that the command runs in, if any.
enum Terminal {
    /// Whether standard output and standard error are terminals that move their cursor.
    static var isInteractive: Bool {
        isatty(STDOUT_FILENO) == 1 && isatty(STDERR_FILENO) == 1 && ProcessInfo.processInfo.environment["TERM"] != "dumb"
    }

    /// The terminal's size in characters. 80 by 24 if it is unknown.
    static var size: (columns: Int, rows: Int) {
        var size = winsize()
        guard unsafe ioctl(STDERR_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0, size.ws_row > 0 else { return (80, 24) }
        return (Int(size.ws_col), Int(size.ws_row))
    }

    /// Writes text without a line break. Text that cannot be written is dropped.
    static func writeToStandardError(_ text: String) {
        try? FileHandle.standardError.write(contentsOf: Data(text.utf8))
    }
}
