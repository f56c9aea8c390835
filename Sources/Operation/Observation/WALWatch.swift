package import Envelope
package import ServerFiles
import Synchronization

/// Finds a forgotten reader of the SQLite file. As long as it reads an old state, the WAL grows, because it cannot start again from its
/// beginning.
///
/// The file is cut to 64 MiB whenever the WAL starts again. If it is larger, it has waited since it passed that size.
struct WALWatch: Sendable, Equatable {
    /// More than a backup of 100,000 registrations lets the WAL grow.
    static let largestByteCount = 256 << 20
    /// The size to which a WAL that starts again is cut (`journal_size_limit`).
    static let usualByteCount = 64 << 20
    /// No tool of ours reads for that long.
    static let longestAge = Duration.seconds(3_600)

    private var largeSince: Duration?

    /// - Parameter byteCount: The WAL's size, or nil if there is none.
    /// - Returns: Whether a reader seems to be forgotten.
    mutating func observe(_ byteCount: Int?, at now: Duration) -> Bool {
        guard let byteCount, byteCount > Self.usualByteCount else {
            largeSince = nil
            return false
        }
        let start = largeSince ?? now
        largeSince = start
        return byteCount > Self.largestByteCount || now - start > Self.longestAge
    }
}

/// The warning about a forgotten reader of the SQLite file.
package final class WALConditions: Sendable {
    private let storage: DatabaseLocation
    private let time: SteadyTime
    private let watch = Mutex(WALWatch())

    package init(storage: DatabaseLocation, time: SteadyTime) {
        (self.storage, self.time) = (storage, time)
    }

    /// The warning, if there is a reason. It measures the WAL's age, so call this at least now and then.
    package var warnings: [Condition] {
        let (size, now) = (StatusSnapshot.Files(storage).walBytes, time.elapsed())
        guard let size, watch.withLock({ $0.observe(size, at: now) }) else { return [] }
        return [.store("a program keeps the database open and its write-ahead log from starting again: \(size / 1_048_576) MiB")]
    }
}
