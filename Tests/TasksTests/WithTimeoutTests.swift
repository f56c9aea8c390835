import Tasks
import TestSupport
import Testing

@Suite(.safetyNet) struct WithTimeoutTests {
    private struct Failure: Error {}

    @Test func `work that ends in time returns its value, and the timer is cancelled`() async {
        let clock = ManualClock()
        let mayEnd = Condition(false)
        let running = Task {
            await withTimeout(.seconds(5), clock: clock) {
                await mayEnd.wait { $0 }
                return 7
            }
        }
        await clock.sleepers(dueIn: .seconds(5))
        mayEnd.change { $0 = true }
        #expect(await running.value == 7)
        await clock.sleepers { $0.isEmpty }
    }

    @Test func `work that takes longer is cancelled`() async {
        let clock = ManualClock()
        let wasCancelled = Condition(false)
        let running = Task {
            await withTimeout(.seconds(5), clock: clock) {
                await Notify().wait()
                wasCancelled.change { $0 = Task.isCancelled }
            }
        }
        await clock.sleepers(dueIn: .seconds(5))
        clock.advance(by: .seconds(5))
        #expect(await running.value == nil)
        #expect(wasCancelled.value)
    }

    @Test func `an error of the work is thrown`() async {
        await #expect(throws: Failure.self) {
            try await withTimeout(.seconds(5), clock: ManualClock()) { () async throws(Failure) -> Int in throw Failure() }
        }
    }

    @Test func `cancellation of the task ends the work`() async {
        let clock = ManualClock()
        let running = Task { await withTimeout(.seconds(5), clock: clock) { await Notify().wait() } }
        await clock.sleepers(dueIn: .seconds(5))
        running.cancel()
        _ = await running.value
        await clock.sleepers { $0.isEmpty }
    }
}
