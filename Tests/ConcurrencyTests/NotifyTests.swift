import Concurrency
import TestSupport
import Testing

@Suite(.safetyNet) struct NotifyTests {
    @Test func `a notification wakes who waits`() async {
        let notify = Notify()
        let waiting = Task { await notify.wait() }
        notify.notify()
        await waiting.value
    }

    @Test func `notifications that nobody waits for are kept as one`() async {
        let notify = Notify()
        notify.notify()
        notify.notify()
        await notify.wait()
        let clock = ManualClock()
        let second = Task { await notify.wait(atMost: .seconds(5), clock: clock) }
        await clock.sleepers(dueIn: .seconds(5))
        clock.advance(by: .seconds(5))
        await second.value
    }

    @Test func `a wait with a limit ends with the notification, without the time`() async {
        let notify = Notify()
        let clock = ManualClock()
        let waiting = Task { await notify.wait(atMost: .seconds(5), clock: clock) }
        await clock.sleepers(dueIn: .seconds(5))
        notify.notify()
        await waiting.value
        await clock.sleepers { $0.isEmpty }
    }

    @Test func `a wait that has run out of time leaves later notifications alone`() async {
        let notify = Notify()
        let clock = ManualClock()
        let waiting = Task { await notify.wait(atMost: .seconds(5), clock: clock) }
        await clock.sleepers(dueIn: .seconds(5))
        clock.advance(by: .seconds(5))
        await waiting.value
        notify.notify()
        await notify.wait()
    }

    @Test func `cancelled, a wait ends and takes nothing`() async {
        let notify = Notify()
        let waiting = Task { await notify.wait() }
        waiting.cancel()
        await waiting.value
        notify.notify()
        await notify.wait()
    }
}
