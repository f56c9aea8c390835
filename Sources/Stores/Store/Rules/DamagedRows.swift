/// A kind of row that a store sets aside when it cannot be read: its values have another shape, or do not open with the sealing keys.
///
/// Such a row must not stop its page's others. It stays undecided or open in the audit's sum, is never deleted, and is read again after the
/// next start. The raw value is stored.
package enum DamagedRowKind: String, Sendable {
    /// An undecided message, or a reply that is not published.
    case message
    case push
}

/// Observes which rows a running store sets aside.
package struct DamagedRowWatch: Sendable {
    /// More than 16 damaged rows in an hour are a wrong key or a bad disk, and not a few rows.
    private static let hourlyLimit = 16
    private static let interval = Duration.seconds(3_600)

    /// The number of rows that were set aside since the start.
    package private(set) var count = 0
    private var recent: [(count: Int, at: Duration)] = []

    package init() {}

    /// Takes the number of rows that the store has set aside.
    ///
    /// - Parameter now: The monotonic time.
    package mutating func observe(_ count: Int, at now: Duration) {
        recent.removeAll { $0.at + Self.interval <= now }
        if count > self.count { recent.append((count - self.count, now)) }
        self.count = count
    }

    /// Whether so many rows were set aside lately that the database or its key is the cause.
    package var isFault: Bool { recent.reduce(0) { $0 + $1.count } > Self.hourlyLimit }
}
