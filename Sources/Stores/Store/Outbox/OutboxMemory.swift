package import Envelope
package import PushProtocol
package import Synchronization

/// The outbox's state that is in memory only.
///
/// A failed transaction does not return its reserved slots. Therefore a queue that looks full is counted again before it rejects a push.
package final class OutboxMemory: Sendable {
    /// The bundle ids that a setting names.
    package let namedBundleIDs: Set<String>
    package let fairQueue = Mutex(OutboxFairQueue())
    package let capacity: Mutex<OutboxCapacity>
    fileprivate let room: Int
    fileprivate let crowded = Mutex<[String: CrowdedDevices]>([:])

    package init(maximumQueueCount: Int, namedBundleIDs: Set<String>) {
        self.namedBundleIDs = namedBundleIDs
        capacity = Mutex(OutboxCapacity(maximumCount: maximumQueueCount))
        room = max(1, maximumQueueCount / 100)
    }
}

/// The outbox memory during a transaction. Rounds take effect when the transaction is durable, reserved slots immediately.
package final class OutboxChanges {
    private let memory: OutboxMemory
    private var assignment = OutboxFairQueue.Assignment()

    package init(_ memory: OutboxMemory) {
        self.memory = memory
    }

    package var namedBundleIDs: Set<String> { memory.namedBundleIDs }

    /// Returns the round for a push that enters a route's queue.
    package func round(for target: Installation, trust: PushTrust, in route: String) -> Int64 {
        memory.fairQueue.withLock { $0.round(for: target, trust: trust, in: route, after: &assignment) }
    }

    /// Records the time of a push that enters a route's queue and waits for it.
    package func wait(until time: Timestamp, trust: PushTrust, in route: String) { assignment.add(time: time, trust: trust, in: route) }

    package func currentRound(trust: PushTrust, in route: String) -> Int64 {
        memory.fairQueue.withLock { $0.currentRound(trust: trust, in: route) }
    }

    /// Records the round that a push keeps when its trust changes. Later pushes to the same target follow it.
    package func record(_ round: Int64, of target: Installation, trust: PushTrust, in route: String) {
        memory.fairQueue.withLock { $0.record(round, of: target, trust: trust, in: route, in: &assignment) }
    }

    package func reserveSlot(
        in route: String, trust: PushTrust, at now: Timestamp, counting count: () throws -> Int, makingRoom makeRoom: () throws -> Int
    ) rethrows -> Bool {
        try memory.capacity.withLock { try $0.reserveSlot(in: route, trust: trust, at: now, counting: count, makingRoom: makeRoom) }
    }

    /// Uses the devices of a route that make room when the share of devices that never worked is full.
    package func crowded<Result: Sendable>(in route: String, _ body: (inout CrowdedDevices) -> Result) -> Result {
        memory.crowded.withLock { body(&$0[route, default: CrowdedDevices()]) }
    }

    /// How many pushes make room together: a hundredth of the slots.
    package var room: Int { memory.room }

    package func reach(_ round: Int64, trust: PushTrust, in route: String) {
        memory.fairQueue.withLock { $0.reach(round, trust: trust, in: route) }
    }

    /// Reads a route's queues from their starts the next time.
    package func reread(_ route: String) { memory.fairQueue.withLock { $0.reread(route) } }

    /// Adopts the assigned rounds, because the transaction is durable.
    package func keep() {
        memory.fairQueue.withLock { $0.commit(assignment) }
    }
}
