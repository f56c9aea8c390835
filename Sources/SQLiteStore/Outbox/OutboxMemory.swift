import Envelope
import PushProtocol
import Store
import Synchronization

/// The state of the outbox that is in memory only. A transaction that fails may have reserved slots in vain: a full queue is counted again
/// before it rejects anything.
final class OutboxMemory: Sendable {
    /// Bundle ids that a setting names.
    let namedBundleIDs: Set<String>
    let fairQueue = Mutex(OutboxFairQueue())
    let capacity: Mutex<OutboxCapacity>

    init(maximumQueueCount: Int, namedBundleIDs: Set<String>) {
        self.namedBundleIDs = namedBundleIDs
        capacity = Mutex(OutboxCapacity(maximumCount: maximumQueueCount))
    }
}

/// The changes that a transaction makes to the state in memory.
final class OutboxChanges {
    private let memory: OutboxMemory
    private var assignment = OutboxFairQueue.Assignment()

    init(_ memory: OutboxMemory) {
        self.memory = memory
    }

    var namedBundleIDs: Set<String> { memory.namedBundleIDs }

    /// Returns the round of a push that enters the queue of a route.
    func round(for target: Installation, trust: PushTrust, in route: String) -> Int64 {
        memory.fairQueue.withLock { $0.round(for: target, trust: trust, in: route, after: &assignment) }
    }

    func currentRound(trust: PushTrust, in route: String) -> Int64 {
        memory.fairQueue.withLock { $0.currentRound(trust: trust, in: route) }
    }

    func reserveSlot(in route: String, trust: PushTrust, at now: Timestamp, counting count: () throws -> Int) rethrows -> Bool {
        try memory.capacity.withLock { try $0.reserveSlot(in: route, trust: trust, at: now, counting: count) }
    }

    func reach(_ round: Int64, trust: PushTrust, in route: String) {
        memory.fairQueue.withLock { $0.reach(round, trust: trust, in: route) }
    }

    /// The transaction is durable.
    func keep() {
        memory.fairQueue.withLock { $0.commit(assignment) }
    }
}
