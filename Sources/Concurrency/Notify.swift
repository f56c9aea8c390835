/// Wakes a waiting task. The next wait returns at once after any number of notifications that no task was waiting for.
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
}
