import Envelope
import Store
import Synchronization
import TestSupport
import Testing

@testable import Daemon

/// A wall clock that makes steps, in one run of the server and from one run to the next (RELIABILITY.md T6).
@Suite(.safetyNet) struct ClockTests {
    private static let start = Timestamp(nanoseconds: 1_700_000_000_000_000_000)
    private static let day = Duration.seconds(86_400)

    /// A clock and the runs of a server by it. Only what was stored survives the end of a run.
    private struct World {
        var time = ClockTests.start
        var elapsed = Duration.zero
        var steps = ClockSteps()
        var stored: StoredClock?

        init() { _ = read() }

        mutating func read() -> ClockReading {
            let reading = steps.read(time, at: elapsed).reading
            stored = steps.stored(reading, at: elapsed)
            return reading
        }

        /// Runs for a time, and reads the clock.
        mutating func run(_ duration: Duration) -> ClockReading {
            elapsed += duration
            time = time.advanced(by: duration)
            return read()
        }

        /// The clock makes a step.
        mutating func step(_ duration: Duration) -> ClockReading {
            time = time.advanced(by: duration)
            return read()
        }

        /// Stops for a time, starts again and reads the clock.
        mutating func restart(after duration: Duration = .zero) -> ClockReading {
            time = time.advanced(by: duration)
            (steps, elapsed) = (ClockSteps(after: stored), .zero)
            return read()
        }
    }

    @Test(arguments: [-200, -3, 3, 200]) func `a step is in doubt until the server has run for ten minutes`(days: Int) {
        var world = World()
        let expected = world.time.advanced(by: .seconds(60))
        _ = world.run(.seconds(60))
        let reading = world.step(Self.day * days)
        #expect(reading == ClockReading(now: world.time, expected: expected))
        #expect(world.run(.seconds(599)).expected == expected.advanced(by: .seconds(599)))
        let believed = world.run(.seconds(1))
        #expect(believed.now == world.time && believed.stamp == world.time && !believed.isHeld)
        #expect(!world.run(.seconds(5)).isHeld)
    }

    @Test(arguments: [false, true]) func `a step ahead that is believed prunes nothing for two days`(restarts: Bool) {
        var world = World()
        let before = world.time
        #expect(world.step(Self.day * 365).isHeld)
        var reading = world.run(.seconds(600))
        var elapsed = Duration.seconds(600)
        #expect(!reading.isHeld && reading.pruning == before.advanced(by: elapsed))
        // A request of 13 minutes ago is not forgotten, and it is known when the clock is right again.
        while elapsed < Self.day * 2 {
            reading = restarts ? world.restart() : world.run(.zero)
            #expect(!reading.isHeld && reading.pruning == before.advanced(by: elapsed))
            elapsed += .seconds(1_800)
            reading = world.run(.seconds(1_800))
        }
        #expect(reading.pruning == world.time)
        #expect(world.restart().pruning == world.time)
    }

    @Test func `a clock that was a year ahead for a day and is back prunes by its own time`() {
        var world = World()
        _ = world.step(Self.day * 365)
        _ = world.run(.seconds(600))
        _ = world.run(Self.day)
        #expect(world.step(Self.day * -365).isHeld)
        let back = world.run(.seconds(600))
        #expect(!back.isHeld && back.pruning == world.time && back.beforeStep == nil)
        #expect(world.restart().beforeStep == nil)
    }

    @Test func `of two steps ahead the pruning follows the time before both`() {
        var world = World()
        let before = world.time
        for _ in 0..<2 {
            _ = world.step(Self.day)
            #expect(!world.run(.seconds(600)).isHeld)
        }
        #expect(world.read().pruning == before.advanced(by: .seconds(1_200)))
        // A start after an absence is a step too.
        _ = world.restart(after: Self.day)
        #expect(world.run(.seconds(600)).pruning == before.advanced(by: .seconds(1_800)))
    }

    @Test(arguments: [-5, 5, 3_600, -3_600]) func `a small step is believed at once`(seconds: Int) {
        var world = World()
        #expect(world.step(.seconds(seconds)) == ClockReading(now: Self.start.advanced(by: .seconds(seconds))))
    }

    @Test func `a step that is reversed ends at once, and the next has its own ten minutes`() {
        var world = World()
        #expect(world.step(Self.day).isHeld)
        #expect(world.run(.seconds(300)).isHeld)
        #expect(!world.step(.zero - Self.day).isHeld)
        #expect(world.step(Self.day).isHeld && world.run(.seconds(599)).isHeld)
        // Another step restarts them.
        #expect(world.step(Self.day).isHeld && world.run(.seconds(599)).isHeld)
        #expect(!world.run(.seconds(1)).isHeld)
    }

    @Test func `three seconds of a wrong clock leave nothing behind`() {
        var world = World()
        let wrong = world.step(Self.day * -2)
        // What arrives now keeps its time, and what is sent has that of the clock.
        #expect(wrong.stamp == Self.start && wrong.now == world.time)
        _ = world.run(.seconds(3))
        #expect(world.step(Self.day * 2) == ClockReading(now: Self.start.advanced(by: .seconds(3))))
    }

    @Test func `a start on another day is in doubt, and a start after an hour is not`() {
        var world = World()
        #expect(!world.restart(after: .seconds(3_600)).isHeld)
        let before = world.time
        let reading = world.restart(after: .seconds(30 * 3_600))
        #expect(reading.expected == before)
        // Friday's push, accepted an hour before the server stopped, neither rings nor expires. One of now is young.
        #expect(reading.age(since: before.advanced(by: .seconds(-3_600)), lifetime: Self.day) == .doubtful)
        #expect(reading.age(since: reading.stamp, lifetime: Self.day) == .young)
        let later = world.run(.seconds(600))
        #expect(later.age(since: before.advanced(by: .seconds(-3_600)), lifetime: Self.day) == .over)
    }

    @Test func `restarts continue a step`() {
        var world = World()
        #expect(world.restart(after: Self.day * 3).isHeld)
        for _ in 0..<2 {
            #expect(world.run(.seconds(240)).isHeld)
            #expect(world.restart(after: .seconds(10)).isHeld)
        }
        #expect(world.run(.seconds(119)).isHeld)
        #expect(!world.run(.seconds(1)).isHeld)
        #expect(!world.restart().isHeld)
    }

    @Test func `a clock of 1970 at the boot that is corrected after 90 s loses nothing`() {
        var world = World()
        let away = Duration.seconds(1_200)
        let boot = Duration.seconds(40) - .nanoseconds(world.time.nanoseconds)
        let reading = world.restart(after: boot)
        #expect(reading.stamp == Self.start && reading.isHeld)
        #expect(reading.age(since: reading.stamp, lifetime: Self.day) == .young)
        _ = world.run(.seconds(90))
        let corrected = world.step(.nanoseconds(Self.start.nanoseconds) - .seconds(40) + away)
        #expect(!corrected.isHeld)
        #expect(corrected.age(since: reading.stamp, lifetime: Self.day) == .young)
    }

    @Test func `a first start believes its clock`() {
        var steps = ClockSteps()
        #expect(steps.read(Self.start, at: .zero).reading == ClockReading(now: Self.start))
    }

    @Test(arguments: [Int64.min, -1, 0, .max], [Int64.min, -1, 0, .max])
    func `numbers of a hostile row are no more than a step`(readAt: Int64, other: Int64) {
        for expected in [nil, Timestamp(nanoseconds: other)] {
            let stored = StoredClock(
                readAt: Timestamp(nanoseconds: readAt), expectedAt: expected, heldFor: .nanoseconds(other))
            var steps = ClockSteps(after: stored)
            for time in [readAt, other, .min, .max] {
                let reading = steps.read(Timestamp(nanoseconds: time), at: .seconds(1)).reading
                _ = (reading.stamp, steps.stored(reading, at: .seconds(2)))
            }
            #expect(
                !steps.read(Self.start, at: .seconds(1_000)).reading.isHeld
                    || steps.read(Self.start, at: .seconds(1_700)).change == .believed)
        }
    }

    private final class Clocks: ClockStore {
        let saved = Mutex<StoredClock?>(nil)
        func clock() -> StoredClock? { saved.withLock(\.self) }
        func save(_ clock: StoredClock) { saved.withLock { $0 = clock } }
    }

    @Test(arguments: [(0, nil), (600, nil), (-600, nil), (660, "11 minutes behind"), (-7_200, "120 minutes ahead of")] as [(Int, String?)])
    func `a server is not ready if PostgreSQL's clock contradicts its own by more than ten minutes`(seconds: Int, text: String?) {
        let keeper = ClockKeeper(
            ManualWallClock(Self.start).clock, after: nil, clock: ManualClock(), store: Clocks(), logger: quietLogger)
        let issues = keeper.issues(against: Self.start.advanced(by: .seconds(seconds)))
        #expect(issues == text.map { ["the wall clock is \($0) PostgreSQL's: correct the one that is wrong"] } ?? [])
        #expect(keeper.issues(against: nil).isEmpty)
        for extreme in [Int64.min, .max] { #expect(keeper.issues(against: Timestamp(nanoseconds: extreme)).count == 1) }
    }

    @Test func `the clock is stored once a minute, and a step at once`() async {
        let (wallClock, clock, store) = (ManualWallClock(Self.start), ManualClock(), Clocks())
        let keeper = ClockKeeper(wallClock.clock, after: nil, clock: clock, store: store, logger: quietLogger)
        let running = Task { try await keeper.run() }
        func pass(_ duration: Duration) async {
            await clock.sleepers(dueIn: .seconds(1))
            wallClock.advance(by: duration)
            clock.advance(by: duration)
            await clock.sleepers(dueIn: .seconds(1))
        }
        await clock.sleepers(dueIn: .seconds(1))
        #expect(store.clock() == StoredClock(readAt: Self.start))
        await pass(.seconds(30))
        #expect(store.clock() == StoredClock(readAt: Self.start))
        await pass(.seconds(30))
        let minute = Self.start.advanced(by: .seconds(60))
        #expect(store.clock() == StoredClock(readAt: minute))
        wallClock.advance(by: Self.day)
        await pass(.seconds(1))
        let expected = minute.advanced(by: .seconds(1))
        #expect(store.clock() == StoredClock(readAt: expected.advanced(by: Self.day), expectedAt: expected))
        await pass(.seconds(10))
        #expect(store.clock()?.heldFor == .seconds(10))
        running.cancel()
        _ = await running.result
    }

    @Test func `the warning names both times, and the next start reads what was stored`() {
        let (wallClock, clock, store, log) = (ManualWallClock(Self.start), ManualClock(), Clocks(), LogLines())
        let stored = StoredClock(readAt: Self.start.advanced(by: Self.day * -2))
        let keeper = ClockKeeper(wallClock.clock, after: stored, clock: clock, store: store, logger: log.logger)
        #expect(keeper.wallClock.read() == ClockReading(now: Self.start, expected: stored.readAt))
        #expect(
            keeper.warnings == [
                "the wall clock shows 2023-11-14T22:13:20Z and should show 2023-11-12T22:13:20Z: "
                    + "for ten minutes nothing expires or is deleted"
            ])
        clock.advance(by: .seconds(600))
        wallClock.advance(by: .seconds(600))
        #expect(keeper.warnings.isEmpty)
        #expect(log.all.map { $0.prefix(26) } == ["warning the wall clock has", "warning the wall clock's s"], "\(log.all)")
    }
}
