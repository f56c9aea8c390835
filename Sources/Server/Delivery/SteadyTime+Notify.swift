import Envelope
import Tasks

extension SteadyTime {
    /// Returns when notified, at that time since the start, or when the task is cancelled.
    func wait(for notify: Notify, until end: Duration) async {
        _ = await withTimeout(after: { try await sleep(until: end) }) { await notify.wait() }
    }
}
