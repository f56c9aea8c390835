import Tasks
import TestSupport
import Testing

@Suite(.safetyNet) struct NotifyTests {
    @Test func `a notification wakes a waiting task`() async {
        let notify = Notify()
        let waiting = Task { await notify.wait() }
        notify.notify()
        await waiting.value
    }

    @Test func `notifications without a waiting task are kept as one`() async {
        let notify = Notify()
        notify.notify()
        notify.notify()
        await notify.wait()
        let clock = ManualClock()
        let second = Task { await withTimeout(.seconds(5), clock: clock) { await notify.wait() } }
        await clock.sleepers(dueIn: .seconds(5))
        clock.advance(by: .seconds(5))
        #expect(await second.value == nil)
    }

    @Test func `a wait that timed out leaves later notifications alone`() async {
        let notify = Notify()
        let clock = ManualClock()
        let waiting = Task { await withTimeout(.seconds(5), clock: clock) { await notify.wait() } }
        await clock.sleepers(dueIn: .seconds(5))
        clock.advance(by: .seconds(5))
        #expect(await waiting.value == nil)
        notify.notify()
        await notify.wait()
    }

    @Test func `a cancelled wait ends and takes no notification`() async {
        let notify = Notify()
        let waiting = Task { await notify.wait() }
        waiting.cancel()
        await waiting.value
        notify.notify()
        await notify.wait()
    }
}
