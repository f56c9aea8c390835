import Envelope
import TestSupport
import Testing

@testable import Daemon

/// A wall clock that jumps while the server runs (RELIABILITY.md T6).
@Suite(.safetyNet) struct WallClockTests {
    private static let start = Timestamp(nanoseconds: 1_700_000_000_000_000_000)
    private static let day = Duration.seconds(86_400)

    private let wallClock = ManualWallClock(Self.start)
    private let clock = ManualClock()
    private let guarded: GuardedWallClock

    init() {
        guarded = GuardedWallClock(wallClock.clock, clock: clock, logger: quietLogger)
        _ = guarded.clock.now()
    }

    private func pass(_ duration: Duration) {
        wallClock.advance(by: duration)
        clock.advance(by: duration)
    }

    /// The guarded clock's time since the start.
    private var shown: Duration { .nanoseconds(guarded.clock.now().nanoseconds - Self.start.nanoseconds) }

    @Test func `a jump ahead is ignored until it has held for ten minutes`() {
        pass(.seconds(60))
        wallClock.advance(by: Self.day * 3)
        #expect(shown == .seconds(60))
        #expect(guarded.warnings.count == 1 && guarded.warnings.first?.contains("3 days") == true, "\(guarded.warnings)")
        pass(.seconds(599))
        #expect(shown == .seconds(659))
        pass(.seconds(1))
        #expect(shown == Self.day * 3 + .seconds(660))
        #expect(guarded.warnings.isEmpty)
        pass(.seconds(5))
        #expect(shown == Self.day * 3 + .seconds(665))
    }

    @Test func `a jump that is reversed in time has no effect`() {
        wallClock.advance(by: Self.day)
        #expect(shown == .zero)
        pass(.seconds(300))
        wallClock.advance(by: .zero - Self.day)
        #expect(shown == .seconds(300) && guarded.warnings.isEmpty)
        // The next jump has its own ten minutes.
        wallClock.advance(by: Self.day)
        pass(.seconds(599))
        #expect(shown == .seconds(899))
    }

    @Test func `another jump restarts the ten minutes`() {
        wallClock.advance(by: Self.day)
        #expect(shown == .zero)
        pass(.seconds(500))
        wallClock.advance(by: Self.day)
        #expect(shown == .seconds(500))
        pass(.seconds(599))
        #expect(shown == .seconds(1_099))
        pass(.seconds(1))
        #expect(shown == Self.day * 2 + .seconds(1_100))
    }

    @Test(arguments: [-86_400 * 3, -5, 5, 3_600]) func `small steps and steps back take effect at once`(seconds: Int) {
        wallClock.advance(by: .seconds(seconds))
        #expect(shown == .seconds(seconds) && guarded.warnings.isEmpty)
    }
}
