import Glibc
import Logging

/// The journal's view of the lines of a descriptor: systemd reads a priority from the start of each line (sd-daemon(3)).
enum JournalStream {
    /// The variable with the device and inode of the service's connection to the journal (systemd.exec(5)).
    static let variable = "JOURNAL_STREAM"

    /// Whether a descriptor is the journal. A redirected standard error is not, even if the variable is inherited.
    static func isJournal(_ descriptor: Int32, environment: [String: String]) -> Bool {
        guard let expected = environment[variable] else { return false }
        return expected == identity(of: descriptor)
    }

    /// Returns the device and inode of an open descriptor, as in the variable, or nil if there is none.
    static func identity(of descriptor: Int32) -> String? {
        var status = stat()
        return unsafe fstat(descriptor, &status) == 0 ? "\(status.st_dev):\(status.st_ino)" : nil
    }

    /// The start of a line of this level, with the priority of syslog(3).
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
