import Envelope
import Foundation
import Logging
import Synchronization

/// The system's wall clock without short jumps ahead. The guard ignores a jump until it has held for ten minutes: a clock that is wrong by
/// days would expire pushes and delete rows, and nothing restores those.
final class GuardedWallClock: Sendable {
    private let wallClock: WallClock
    private let elapsed: @Sendable () -> Duration
    private let logger: Logger
    private let judge = Mutex(WallClockJudge())

    init<Time: Clock<Duration>>(_ wallClock: WallClock, clock: Time, logger: Logger) {
        self.wallClock = wallClock
        self.logger = logger
        let start = clock.now
        elapsed = { start.duration(to: clock.now) }
    }

    /// The wall clock that the server uses.
    var clock: WallClock { WallClock { self.now() } }

    /// The warning about a jump that the guard ignores.
    var warnings: [String] {
        _ = now()
        guard let jump = judge.withLock(\.jump) else { return [] }
        return ["the wall clock has jumped ahead by \(Self.text(jump)): the server ignores the jump until it has held for ten minutes"]
    }

    private func now() -> Timestamp {
        let (time, change) = judge.withLock { $0.judge(wallClock.now(), at: elapsed()) }
        switch change {
        case .jumped(let jump):
            logger.warning(
                "the wall clock has jumped ahead; ignoring the jump until it has held for ten minutes",
                metadata: ["jump": "\(Self.text(jump))"])
        case .believed: logger.warning("the wall clock's jump ended: it has held for ten minutes and is accepted")
        case .returned: logger.warning("the wall clock's jump ended: the clock is back")
        case nil: break
        }
        return time
    }

    private static func text(_ jump: Duration) -> String {
        jump.formatted(.units(allowed: [.days, .hours, .minutes], width: .wide))
    }
}

/// A state machine that compares the wall clock with a monotonic clock.
struct WallClockJudge {
    /// A state change, for the log.
    enum Change: Equatable {
        /// The clock has jumped ahead by that time, and the jump is ignored.
        case jumped(Duration)
        /// The ignored jump is accepted.
        case believed
        /// The clock is back, and the ignored jump has ended.
        case returned
    }

    /// More than the time service corrects a running clock by, and less than the shortest lifetime, which is a day.
    static let tolerance = Duration.seconds(3_600)
    /// A jump is accepted after this time, which is longer than an operator or the time service needs to correct a mistake.
    static let confirmationTime = Duration.seconds(600)

    /// The accepted difference between wall clock and monotonic clock, or nil before the first reading.
    private var offset: Duration?
    /// The difference during an ignored jump, and the monotonic time when it was first seen, or nil if there is no such jump.
    private var pendingJump: (offset: Duration, since: Duration)?

    /// How large the jump is that is being ignored, or nil if there is none.
    var jump: Duration? {
        guard let pendingJump, let offset else { return nil }
        return pendingJump.offset - offset
    }

    /// - Parameter elapsed: The monotonic time since the start.
    /// - Returns: The time to use, and the change to log.
    mutating func judge(_ time: Timestamp, at elapsed: Duration) -> (Timestamp, Change?) {
        let current = Duration.nanoseconds(time.nanoseconds) - elapsed
        guard let believed = offset, current - believed > Self.tolerance else {
            offset = current
            defer { pendingJump = nil }
            return (time, pendingJump == nil ? nil : .returned)
        }
        guard let pendingJump, abs(current - pendingJump.offset) <= Self.tolerance else {
            self.pendingJump = (current, elapsed)
            return (Self.time(believed + elapsed), .jumped(current - believed))
        }
        guard elapsed - pendingJump.since >= Self.confirmationTime else { return (Self.time(believed + elapsed), nil) }
        offset = current
        self.pendingJump = nil
        return (time, .believed)
    }

    private static func time(_ sinceEpoch: Duration) -> Timestamp {
        Timestamp(nanoseconds: 0).advanced(by: sinceEpoch)
    }

    private func abs(_ duration: Duration) -> Duration { duration < .zero ? .zero - duration : duration }
}
