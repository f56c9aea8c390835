import Concurrency
import Envelope

extension SteadyTime {
    /// Returns when notified, when so much time has passed since the start, or when the task is cancelled.
    func wait(for notify: Notify, until end: Duration) async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await notify.wait() }
            group.addTask { try? await sleep(until: end) }
            await group.next()
            group.cancelAll()
        }
    }
}
