import Concurrency
import Envelope

/// The time by which delays are kept: starts as the wall clock does and then goes by the monotonic clock, so that it can be stored and
/// yet never jumps (RELIABILITY.md T6).
struct SteadyTime: Sendable {
    /// Since the start.
    let elapsed: @Sendable () -> Duration
    private let sleep: @Sendable (_ end: Duration) async throws -> Void
    private let start: Timestamp

    init(clock: some Clock<Duration>, start: Timestamp) {
        let origin = clock.now
        elapsed = { origin.duration(to: clock.now) }
        sleep = { end in try await clock.sleep(until: origin.advanced(by: end), tolerance: nil) }
        self.start = start
    }

    var now: Timestamp { start.advanced(by: elapsed()) }

    /// How long after the start a time is, or was.
    func elapsed(at time: Timestamp) -> Duration {
        .nanoseconds(time.nanoseconds) - .nanoseconds(start.nanoseconds)
    }

    /// - Returns: false if the task was cancelled first.
    func sleep(for duration: Duration) async -> Bool {
        (try? await sleep(elapsed() + duration)) != nil
    }

    /// Returns when notified, when so much time has passed since the start, or when the task is cancelled.
    func wait(for notify: Notify, until end: Duration) async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await notify.wait() }
            group.addTask { try? await sleep(end) }
            await group.next()
            group.cancelAll()
        }
    }
}
