import Glibc
import Logging

/// How the journal reads a descriptor's lines: systemd takes a priority from the start of each line (sd-daemon(3)).
enum JournalStream {
    /// The variable with device and inode of the service's connection to the journal (systemd.exec(5)).
    static let variable = "JOURNAL_STREAM"

    /// Whether a descriptor is the journal. A redirected standard error is not, even if the variable is inherited.
    static func isJournal(_ descriptor: Int32, environment: [String: String]) -> Bool {
        guard let expected = environment[variable] else { return false }
        return expected == identity(of: descriptor)
    }

    /// Returns an open descriptor's device and inode, as in the variable, or nil if the descriptor isn't open.
    static func identity(of descriptor: Int32) -> String? {
        var status = stat()
        return unsafe fstat(descriptor, &status) == 0 ? "\(status.st_dev):\(status.st_ino)" : nil
    }

    /// What a line of this level starts with: its priority (syslog(3)).
    static func prefix(_ level: Logger.Level) -> String {
        switch level {
        case .trace, .debug: "<7>"
        case .info: "<6>"
        case .notice: "<5>"
        case .warning: "<4>"
        case .error: "<3>"
        case .critical: "<2>"
        }
    }
}
