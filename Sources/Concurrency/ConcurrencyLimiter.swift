/// Bounds how much is under way, and tells when nothing is.
package final class ConcurrencyLimiter: Sendable {
    private let limit: Int
    private let inUse = Monitor(0)

    package init(limit: Int) {
        self.limit = limit
    }

    /// How much is under way.
    package var count: Int { inUse.read { $0 } }

    /// Waits until less than the limit is under way, then enters with all of it: a batch larger than the limit must get in too.
    ///
    /// - Throws: `CancellationError` when the task is cancelled while it waits; nothing has entered then.
    package func acquire(_ count: Int = 1) async throws {
        let entry: Void? = await inUse.wait { [limit] inUse in
            guard inUse < limit else { return nil }
            inUse += count
            return ()
        }
        if entry == nil { throw CancellationError() }
    }

    /// Enters if there is room.
    package func tryAcquire(_ count: Int = 1) -> Bool {
        inUse.update { [limit] inUse in
            guard inUse < limit else { return false }
            inUse += count
            return true
        }
    }

    /// Enters beyond the limit too: for what follows from something that has been let in.
    package func acquireAlways(_ count: Int = 1) {
        inUse.update { $0 += count }
    }

    package func release(_ count: Int = 1) {
        inUse.update { $0 -= count }
    }

    /// Returns when nothing is under way, or when the task is cancelled.
    package func waitUntilIdle() async {
        await inUse.wait { $0 == 0 ? () : nil }
    }
}
