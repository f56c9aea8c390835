import Envelope

/// The time by which delays are kept: starts as the wall clock does and then goes by the monotonic clock, so that it can be stored and
/// yet never jumps (RELIABILITY.md T6).
struct SteadyTime: Sendable {
    /// Since the start.
    let elapsed: @Sendable () -> Duration
    private let start: Timestamp

    init(clock: some Clock<Duration>, start: Timestamp) {
        let origin = clock.now
        elapsed = { origin.duration(to: clock.now) }
        self.start = start
    }

    var now: Timestamp { start.advanced(by: elapsed()) }
}
