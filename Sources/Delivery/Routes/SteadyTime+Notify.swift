import Concurrency
import Envelope

extension SteadyTime {
    /// Returns when notified, when so much time has passed since the start, or when the task is cancelled.
    func wait(for notify: Notify, until end: Duration) async {
        _ = await withTimeout(after: { try await sleep(until: end) }) { await notify.wait() }
    }
}
