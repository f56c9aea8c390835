/// The time by which delays and limits are kept: starts as the wall clock does and then goes by the monotonic clock, so that it can be
/// stored and yet never jumps (RELIABILITY.md T6).
package struct SteadyTime: Sendable {
    /// Since the start.
    package let elapsed: @Sendable () -> Duration
    private let sleep: @Sendable (_ end: Duration) async throws -> Void
    private let start: Timestamp

    package init(clock: some Clock<Duration>, start: Timestamp) {
        let origin = clock.now
        elapsed = { origin.duration(to: clock.now) }
        sleep = { end in try await clock.sleep(until: origin.advanced(by: end), tolerance: nil) }
        self.start = start
    }

    package var now: Timestamp { start.advanced(by: elapsed()) }

    /// How long after the start a time is, or was.
    package func elapsed(at time: Timestamp) -> Duration {
        .nanoseconds(time.nanoseconds) - .nanoseconds(start.nanoseconds)
    }

    /// Returns when so much time has passed since the start.
    package func sleep(until end: Duration) async throws {
        try await sleep(end)
    }

    /// - Returns: false if the task was cancelled first.
    package func sleep(for duration: Duration) async -> Bool {
        (try? await sleep(elapsed() + duration)) != nil
    }
}
