/// Wakes a task that waits. A notification that finds nobody waiting is kept for the next wait, once, however many there were.
package final class Notify: Sendable {
    private let isPending = Monitor(false)

    package init() {}

    package func notify() {
        isPending.update { $0 = true }
    }

    /// Returns when notified, or when the task is cancelled.
    package func wait() async {
        await isPending.wait { isPending in
            defer { isPending = false }
            return isPending ? () : nil
        }
    }

    /// Returns when notified, when the time is over, or when the task is cancelled.
    package func wait(atMost duration: Duration, clock: any Clock<Duration>) async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await self.wait() }
            group.addTask { try? await clock.sleep(for: duration) }
            await group.next()
            group.cancelAll()
        }
    }
}
