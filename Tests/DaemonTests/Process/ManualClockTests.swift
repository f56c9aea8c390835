import TestSupport
import Testing

/// The clock by which the other tests simulate time.
@Suite(.safetyNet)
struct ManualClockTests {
    @Test func `a sleeper wakes at its time, and the clock waits for sleepers`() async throws {
        let clock = ManualClock()
        let sleeper = Task { try await clock.sleep(for: .seconds(3)) }
        await clock.sleepers(dueIn: .seconds(3))
        clock.advance(by: .seconds(2))
        await clock.sleepers(dueIn: .seconds(1))
        clock.advance(by: .seconds(1))
        try await sleeper.value
    }

    /// A test that reaches its time limit must not hang.
    @Test func `a cancelled wait for sleepers returns`() async {
        let clock = ManualClock()
        // The cancellation comes before or during the wait.
        for _ in 0..<100 {
            let waiting = Task { await clock.sleepers(dueIn: .seconds(1)) }
            waiting.cancel()
            await waiting.value
        }
    }
}
