import Bytes
import Foundation

/// The terminal's second screen, which leaves the first screen as it is.
struct AlternateScreen {
    init() {
        write("\u{1B}[?1049h\u{1B}[?25l")
    }

    /// Shows lines instead of the earlier lines, as many as the terminal has rows.
    func show(_ lines: [String]) {
        let size = Terminal.size
        // Each line erases what is left of the old line. Erasing the whole screen first would flicker.
        let text = lines.prefix(size.rows).map { "\($0.printable.prefix(size.columns))\u{1B}[K" }.joined(separator: "\n")
        write("\u{1B}[H\(text)\u{1B}[J")
    }

    /// Shows the first screen and the cursor again.
    func leave() {
        write("\u{1B}[?25h\u{1B}[?1049l")
    }

    private func write(_ text: String) {
        try? FileHandle.standardOutput.write(contentsOf: Data(text.utf8))
    }
}
