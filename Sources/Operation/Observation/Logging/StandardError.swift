import Foundation

/// Where a command prints everything except its result.
package enum StandardError {
    /// Prints a line. A line that cannot be written is dropped: the exit code still tells what happened.
    package static func print(_ line: String) {
        try? FileHandle.standardError.write(contentsOf: Data((line + "\n").utf8))
    }
}
