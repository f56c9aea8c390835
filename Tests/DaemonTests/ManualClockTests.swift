import TestSupport
import Testing

/// What tests with simulated time rely on.
@Suite(.timeLimit(.minutes(1)))
struct ManualClockTests {
    @Test func `who sleeps wakes when the time has come, and is waited for`() async throws {
        let clock = ManualClock()
        let sleeper = Task { try await clock.sleep(for: .seconds(3)) }
        await clock.sleepers(1)
        clock.advance(by: .seconds(2))
        await clock.sleepers(1)
        clock.advance(by: .seconds(1))
        try await sleeper.value
    }

    /// A test that has come to its time limit must not hang.
    @Test func `who waits for sleepers and is cancelled goes on`() async {
        let clock = ManualClock()
        let waiting = Task { await clock.sleepers(1) }
        waiting.cancel()
        await waiting.value
        let later = Task { await clock.sleepers(1) }
        await Task.yield()
        later.cancel()
        await later.value
    }
}
