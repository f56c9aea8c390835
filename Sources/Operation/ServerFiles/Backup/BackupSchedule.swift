package import Envelope

/// The rules for automatic backups: when the next is due, and which older backups stay.
package struct BackupSchedule: Sendable, Equatable {
    /// A failed backup is retried after this time, unless the next is due earlier.
    private static let longestRetryInterval = Duration.seconds(15 * 60)
    /// After this time a backup looks again for room, unless the next is due earlier. A full disk needs an operator.
    private static let roomInterval = Duration.seconds(3_600)
    private static let nanosecondsPerDay: Int64 = 86_400 * 1_000_000_000

    /// The time between two backups.
    package var interval: Duration
    /// The number of days for which the newest backup stays, at least 1. Days without a backup do not count.
    package var dayCount: Int
    /// The number of weeks for which the newest backup stays, among those older than the daily backups.
    package var weekCount: Int

    package init(interval: Duration, dayCount: Int, weekCount: Int) {
        self.interval = interval
        self.dayCount = dayCount
        self.weekCount = weekCount
    }

    /// Returns when the newest backup was made, or nil if none exists.
    ///
    /// - Parameter now: The time after which a backup does not count: the clock was wrong when it was named.
    package func newest(of backups: [BackupName], at now: Timestamp) -> Timestamp? {
        backups.compactMap { $0.time.ifPast(at: now) }.max()
    }

    /// Returns the time at which the next backup is due, which may be in the past.
    ///
    /// - Parameters:
    ///   - newest: When the newest backup was made, or nil if none exists.
    ///   - failure: When the last attempt was made, if it failed.
    ///   - lacksRoom: Whether it failed because there was no room.
    package func nextTime(newest: Timestamp?, failure: Timestamp?, lacksRoom: Bool = false, now: Timestamp) -> Timestamp {
        if let failure = failure?.ifPast(at: now) {
            return failure.advanced(by: min(interval, lacksRoom ? Self.roomInterval : Self.longestRetryInterval))
        }
        return newest?.ifPast(at: now)?.advanced(by: interval) ?? now
    }

    /// Returns the backups to remove. Those from the future neither count nor go, nor does the one that was just made.
    package func expired(_ backups: [BackupName], made: BackupName, at now: Timestamp) -> [BackupName] {
        let newestFirst = backups.filter { $0.time.ifPast(at: now) != nil }.sorted { $0.time > $1.time }
        let days = Self.firsts(of: newestFirst, count: dayCount) { $0 }
        let oldestDay = days.last.map { Self.day(of: $0) }
        let older = newestFirst.filter { backup in oldestDay.map { Self.day(of: backup) < $0 } ?? false }
        // Weeks begin on Mondays, and 1 January 1970 was a Thursday.
        let weeks = Self.firsts(of: older, count: weekCount) { ($0 + 3) / 7 }
        let kept = Set(days + weeks + [made])
        return newestFirst.filter { !kept.contains($0) }
    }

    /// Returns the first backup in each period, for the first periods.
    ///
    /// - Parameter period: Returns the number of the period that contains a day. Days are numbered from 1970.
    private static func firsts(of backups: some Sequence<BackupName>, count: Int, period: (Int64) -> Int64) -> [BackupName] {
        var seen: Set<Int64> = []
        return Array(backups.filter { seen.insert(period(day(of: $0))).inserted }.prefix(count))
    }

    private static func day(of backup: BackupName) -> Int64 { backup.time.nanoseconds / nanosecondsPerDay }
}
