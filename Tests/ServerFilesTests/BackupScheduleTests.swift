import Bytes
import Envelope
import TestSupport
import Testing

@testable import ServerFiles

@Suite(.safetyNet)
struct BackupScheduleTests {
    private static let identity = FixedBytes<33>(repeating: 2)
    /// Monday, 2 November 2026, 12:00.
    private static let monday: Int64 = 1_793_620_800
    private let schedule = BackupSchedule(interval: .seconds(86_400), dayCount: 7, weekCount: 4)

    private static func time(day: Int64, hour: Int64 = 12) -> Timestamp {
        Timestamp(nanoseconds: (monday + day * 86_400 + (hour - 12) * 3_600) * 1_000_000_000)
    }

    private static func backup(day: Int64, hour: Int64 = 12) -> BackupName {
        BackupName(identity: identity, time: time(day: day, hour: hour), isEncrypted: false)
    }

    // MARK: Names

    @Test(arguments: [false, true]) func `a name reads back`(isEncrypted: Bool) {
        let name = BackupName(identity: Self.identity, time: Self.time(day: 0).advanced(by: .nanoseconds(17)), isEncrypted: isEncrypted)
        #expect(name.description == "pushserver-02020202-20261102T120000Z.sqlite" + (isEncrypted ? ".age" : ""))
        #expect(BackupName(name.description, identity: Self.identity) == name)
        #expect(BackupName(name.description, identity: FixedBytes(repeating: 3)) == nil)
    }

    @Test(arguments: [
        "", "identity.key", "pushserver-02020202-.sqlite", "pushserver-02020202-20261102T120000Z.sqlite.0123456789abcdef.new",
        "pushserver-02020202-2026-11-02T12:00:00Z.sqlite", "pushserver-02020202-20261302T120000Z.sqlite",
        "pushserver-02020202-20261102T120000Z.sqlite-wal",
    ])
    func `other files are not backups`(name: String) {
        #expect(BackupName(name, identity: Self.identity) == nil)
    }

    // MARK: Retention

    @Test func `backups of every day leave the newest of seven days and of four weeks before`() {
        var backups: [BackupName] = []
        for day in Int64(0)..<100 {
            backups.append(Self.backup(day: day))
            let expired = schedule.expired(backups, made: Self.backup(day: day), at: Self.time(day: day))
            #expect(expired.count <= 1)
            backups.removeAll { expired.contains($0) }
        }
        // Day 99 is a Tuesday. Day 92 is the newest one of its week that is older than the seven days; 90, 83 and 76 are Sundays.
        #expect(backups == [76, 83, 90, 92, 93, 94, 95, 96, 97, 98, 99].map { Self.backup(day: $0) })
        #expect(Set(expired((0..<100).map { Self.backup(day: $0) }, schedule)).count == 89)
    }

    @Test func `several backups of a day leave the newest`() {
        let backups = [Self.backup(day: 0, hour: 1), Self.backup(day: 0, hour: 23), Self.backup(day: 1, hour: 0)]
        #expect(expired(backups.shuffled(), schedule) == [backups[0]])
    }

    @Test func `days without a backup do not count, so that a stopped server keeps its backups`() {
        let backups = (Int64(0)..<7).map { Self.backup(day: $0) } + [Self.backup(day: 365)]
        #expect(expired(backups, schedule).isEmpty)
    }

    @Test func `the newest backup always stays`() {
        let least = BackupSchedule(interval: .seconds(60), dayCount: 1, weekCount: 0)
        #expect(expired([Self.backup(day: 0), Self.backup(day: 1)], least) == [Self.backup(day: 0)])
        #expect(expired([], least).isEmpty)
    }

    @Test func `backups from the future neither count nor go, nor does the one just made`() {
        let least = BackupSchedule(interval: .seconds(60), dayCount: 1, weekCount: 0)
        let backups = [Self.backup(day: 0), Self.backup(day: 1), Self.backup(day: 400)]
        #expect(least.expired(backups, made: backups[1], at: Self.time(day: 1)) == [backups[0]])
        // A clock that goes back may give it a name before others.
        #expect(least.expired(backups, made: backups[0], at: Self.time(day: 1)) == [])
    }

    /// Returns the backups that go after the newest was made.
    private func expired(_ backups: [BackupName], _ schedule: BackupSchedule) -> [BackupName] {
        guard let newest = backups.max(by: { $0.time < $1.time }) else { return [] }
        return schedule.expired(backups, made: newest, at: newest.time)
    }

    // MARK: Due times

    @Test func `a backup is due at once without one, and an interval after the newest`() {
        let now = Self.time(day: 1)
        #expect(schedule.nextTime(newest: nil, failure: nil, now: now) == now)
        #expect(schedule.nextTime(newest: Self.time(day: 0, hour: 13), failure: nil, now: now) == Self.time(day: 1, hour: 13))
    }

    @Test(arguments: [(86_400, 900), (60, 60)] as [(Int64, Int64)])
    func `a failed backup is retried after 15 minutes, or after the interval if that is shorter`(interval: Int64, delay: Int64) {
        let schedule = BackupSchedule(interval: .seconds(interval), dayCount: 7, weekCount: 4)
        let now = Self.time(day: 5)
        for newest in [nil, Self.time(day: 0)] {
            #expect(schedule.nextTime(newest: newest, failure: now, now: now) == now.advanced(by: .seconds(delay)))
            // Without room, after an hour.
            let later = schedule.nextTime(newest: newest, failure: now, lacksRoom: true, now: now)
            #expect(later == now.advanced(by: .seconds(min(interval, 3_600))))
        }
    }

    @Test func `a time from the future, which a wrong clock has left, delays no backup`() {
        let (now, future) = (Self.time(day: 1), Self.time(day: 400))
        #expect(schedule.nextTime(newest: future, failure: nil, now: now) == now)
        #expect(schedule.nextTime(newest: future, failure: future, now: now) == now)
    }

    @Test func `a backup with a future time does not count as the newest, because the clock was wrong`() {
        let backups = [Self.backup(day: 0), Self.backup(day: 400)]
        #expect(schedule.newest(of: backups, at: Self.time(day: 1)) == Self.time(day: 0))
        #expect(schedule.newest(of: [], at: Self.time(day: 1)) == nil)
    }
}
