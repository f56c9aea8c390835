/// Bounds the work in progress. With a limit of 1 it is a mutex for sections that suspend.
package final class ConcurrencyLimiter: Sendable {
    private let limit: Int
    private let freeSlots: Monitor<Int>

    package init(limit: Int) {
        self.limit = limit
        freeSlots = Monitor(limit)
    }

    /// Waits for a free slot and takes it. Callers get slots in the order in which they called.
    ///
    /// - Throws: `CancellationError` if the task is cancelled first. The task holds no slot then.
    package func acquire() async throws {
        let slot: Void? = await freeSlots.wait { freeSlots in
            guard freeSlots > 0 else { return nil }
            freeSlots -= 1
            return ()
        }
        if slot == nil { throw CancellationError() }
    }

    /// Takes a slot if any is free.
    ///
    /// - Returns: Whether a slot was free.
    package func tryAcquire() -> Bool {
        freeSlots.update { freeSlots in
            guard freeSlots > 0 else { return false }
            freeSlots -= 1
            return true
        }
    }

    /// Frees a slot that was taken.
    package func release() {
        freeSlots.update { $0 += 1 }
    }

    /// Returns when all slots are free, or when the task is cancelled.
    package func waitUntilIdle() async {
        await freeSlots.wait { [limit] in $0 == limit ? () : nil }
    }
}
