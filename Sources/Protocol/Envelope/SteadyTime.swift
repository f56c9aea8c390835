/// The time that delays and limits use: it starts at the wall clock's time and then follows the monotonic clock, so it can be stored and
/// never jumps (RELIABILITY.md T6).
package struct SteadyTime: Sendable {
    /// Returns the time since the start.
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

    /// Returns the duration from the start to a time.
    package func elapsed(at time: Timestamp) -> Duration {
        .nanoseconds(time.nanoseconds) - .nanoseconds(start.nanoseconds)
    }

    /// Returns when the duration since the start has passed.
    package func sleep(until end: Duration) async throws {
        try await sleep(end)
    }

    /// - Returns: False if the task was cancelled before the duration passed.
    package func sleep(for duration: Duration) async -> Bool {
        (try? await sleep(elapsed() + duration)) != nil
    }
}
