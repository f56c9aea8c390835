import Dispatch
import Foundation
import Logging
import Synchronization

/// Standard error, or another descriptor, as the destination of log lines.
///
/// A line that cannot be written never ends or holds up the process: it is dropped and counted, and the next line that can be written is
/// preceded by a report of the loss. `FileHandle.write(_:)` would trap when nobody reads a pipe or socket, or when a disk is full.
final class LogOutput: Sendable {
    static let standardError = LogOutput(STDERR_FILENO)

    /// The limit is 100 ms: the time for which a line waits for a slow reader. While a reader stands still, further lines do not wait.
    private static let maximumWait = Duration.milliseconds(100)

    private struct State {
        /// The number of lines that were dropped since the last report.
        var unreportedCount = 0
        var isReaderStalled = false
        /// Whether the last line was cut off.
        var endsInsideLine = false
    }

    private let descriptor: Int32
    private let isSocket: Bool
    private let isJournal: Bool
    private let state = Mutex(State())
    private let lost = Atomic(0)

    /// - Parameter descriptor: An open descriptor that the caller keeps open.
    init(_ descriptor: Int32, environment: [String: String] = ProcessInfo.processInfo.environment) {
        self.descriptor = descriptor
        isJournal = JournalStream.isJournal(descriptor, environment: environment)
        var status = stat()
        isSocket = unsafe fstat(descriptor, &status) == 0 && status.st_mode & S_IFMT == S_IFSOCK
    }

    /// The number of lines that were dropped since the start.
    var lostLineCount: Int { lost.load(ordering: .relaxed) }

    /// Returns a line as this destination expects it: with its priority for the journal.
    func line(_ level: Logger.Level, _ text: some Sequence<UInt8>) -> [UInt8] {
        (isJournal ? Array(JournalStream.prefix(level).utf8) : []) + text
    }

    /// Writes a line, or drops and counts it.
    ///
    /// - Parameters:
    ///   - line: The text without its line feed.
    ///   - report: Returns the line that reports how many lines were dropped before this line.
    func write(_ line: [UInt8], reportingLoss report: (_ count: Int) -> [UInt8]) {
        state.withLock { state in
            if state.unreportedCount > 0, put(report(state.unreportedCount), &state) { state.unreportedCount = 0 }
            guard state.unreportedCount == 0, put(line, &state) else {
                state.unreportedCount += 1
                lost.add(1, ordering: .relaxed)
                return
            }
        }
    }

    /// - Returns: Whether the whole line was written.
    private func put(_ line: [UInt8], _ state: inout State) -> Bool {
        let lineFeed = [UInt8(ascii: "\n")]
        // Each line is a single write, so that lines from several processes do not mix.
        let bytes = (state.endsInsideLine ? lineFeed : []) + line + lineFeed
        let deadline = ContinuousClock.now + (state.isReaderStalled ? .zero : Self.maximumWait)
        var count = 0
        while count < bytes.count {
            let written = writeChunk(bytes[count...])
            if written > 0 {
                count += written
            } else if errno == EAGAIN {
                guard waitForReader(until: deadline) else { break }
            } else if errno != EINTR {
                break
            }
        }
        state.isReaderStalled = count < bytes.count
        if count > 0 { state.endsInsideLine = count < bytes.count }
        return count == bytes.count
    }

    /// Writes as much as the descriptor takes immediately.
    ///
    /// - Returns: The number of bytes, or -1 and `errno` if it doesn't take any.
    private func writeChunk(_ bytes: ArraySlice<UInt8>) -> Int {
        unsafe bytes.withUnsafeBytes { buffer in
            if isSocket {
                return unsafe send(descriptor, buffer.baseAddress, buffer.count, Int32(MSG_DONTWAIT | MSG_NOSIGNAL))
            }
            // A pipe or terminal that is ready takes PIPE_BUF bytes without blocking (pipe(7)). The descriptor itself cannot be made
            // non-blocking, because other processes share its open file description.
            guard isReady(within: .zero) else {
                errno = EAGAIN
                return -1
            }
            return unsafe Glibc.write(descriptor, buffer.baseAddress, min(buffer.count, Int(PIPE_BUF)))
        }
    }

    private func waitForReader(until deadline: ContinuousClock.Instant) -> Bool {
        let left = ContinuousClock.now.duration(to: deadline)
        return left > .zero && isReady(within: left)
    }

    /// Whether the descriptor takes bytes, or an attempt would fail immediately.
    private func isReady(within time: Duration) -> Bool {
        var request = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        return unsafe poll(&request, 1, Int32((time / .milliseconds(1)).rounded(.up))) > 0
    }
}
