/// A signal that wakes a waiting task. Notifications without a waiting task make the next wait return immediately. Their number does not
/// count.
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
