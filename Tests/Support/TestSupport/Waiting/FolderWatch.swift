import Foundation
import Synchronization
import Tasks

/// Waits for changes that another process, or another connection, makes to the files of a folder, such as a database row or a ready file.
///
/// The kernel reports each write (inotify(7)).
package final class FolderWatch: Sendable {
    package struct Unavailable: Error {
        package var errno: Int32
    }

    private static let firstPause = Duration.milliseconds(1)
    private static let longestPause = Duration.seconds(1)
    private static let events = UInt32(IN_MODIFY | IN_CREATE | IN_MOVED_TO | IN_DELETE | IN_CLOSE_WRITE)

    private let descriptor: Int32
    /// The number of changes so far.
    private let changes: Condition<Int>

    package init(_ folder: String) throws(Unavailable) {
        let descriptor = inotify_init1(Int32(IN_CLOEXEC))
        guard descriptor >= 0 else { throw Unavailable(errno: errno) }
        guard unsafe inotify_add_watch(descriptor, folder, Self.events) >= 0 else {
            let reason = errno
            close(descriptor)
            throw Unavailable(errno: reason)
        }
        self.descriptor = descriptor
        changes = Condition(0)
        Self.read(descriptor, into: changes)
    }

    deinit {
        // The removal of the watch is itself an event, which ends the thread. A closed descriptor would leave the thread in its read.
        inotify_rm_watch(descriptor, 1)
    }

    /// Waits until the condition holds. The method checks the condition at once, after each change in the folder, and then at growing
    /// intervals.
    ///
    /// A database shows rows after their sync, which does not change its files.
    ///
    /// - Throws: `CancellationError` if the task is cancelled.
    package func wait(until isSo: () async throws -> Bool, file: StaticString = #fileID, line: Int = #line) async throws {
        try await OpenWaits.during("\(file):\(line)", seeing: { "\(self.changes.value) changes in the folder" }) {
            try await waitForChanges(until: isSo)
        }
    }

    private func waitForChanges(until isSo: () async throws -> Bool) async throws {
        var pause = Self.firstPause
        while true {
            let seen = changes.value
            if try await isSo() { return }
            try Task.checkCancellation()
            pause = await hasChanged(since: seen, within: pause) ? Self.firstPause : min(pause * 2, Self.longestPause)
        }
    }

    private func hasChanged(since seen: Int, within time: Duration) async -> Bool {
        await withTimeout(time, clock: ContinuousClock()) { await self.changes.wait { $0 > seen } } ?? false
    }

    /// Reads events on a separate thread: blocking calls must not use the thread pool.
    private static func read(_ descriptor: Int32, into changes: Condition<Int>) {
        Thread.detachNewThread {
            var buffer = [UInt8](repeating: 0, count: 4096)
            while true {
                let count = unsafe Glibc.read(descriptor, &buffer, buffer.count)
                if count < 0, errno == EINTR { continue }
                guard count > 0, !isEnd(buffer[..<count]) else { break }
                changes.change { $0 += 1 }
            }
            close(descriptor)
        }
    }

    /// Returns whether an event reports the removal of the watch.
    ///
    /// - Parameter events: Structures `inotify_event` of four 32-bit words and a name. The second word is the mask and the fourth the
    ///   length of the name.
    private static func isEnd(_ events: ArraySlice<UInt8>) -> Bool {
        func word(_ index: Int, of event: ArraySlice<UInt8>) -> UInt32 {
            event.dropFirst(4 * index).prefix(4).reversed().reduce(0) { $0 << 8 | UInt32($1) }
        }
        var rest = events
        while rest.count >= 16 {
            if word(1, of: rest) & UInt32(IN_IGNORED) != 0 { return true }
            rest = rest.dropFirst(16 + Int(word(3, of: rest)))
        }
        return false
    }
}
