package import Envelope
package import Synchronization

/// The outbox's state that is in memory only.
package final class OutboxMemory: Sendable {
    /// The bundle ids that a setting names.
    package let namedBundleIDs: Set<String>
    package let capacity: Mutex<OutboxCapacity>
    fileprivate let heaviest = Mutex<[Room: HeaviestDevices]>([:])
    private let listener = Mutex<(@Sendable (_ route: String, _ arrivals: Arrivals) -> Void)?>(nil)

    /// Where room is made.
    fileprivate struct Room: Hashable {
        var queue: OutboxSlot.Queue
        /// Whether only devices that never worked make it.
        var isOfNewDevices: Bool
    }

    package init(maximumQueueCount: Int, namedBundleIDs: Set<String>) {
        self.namedBundleIDs = namedBundleIDs
        capacity = Mutex(OutboxCapacity(maximumCount: maximumQueueCount))
    }

    /// Sets who is told of the devices that have got pushes, after each commit.
    package func tell(_ listener: @escaping @Sendable (_ route: String, _ arrivals: Arrivals) -> Void) {
        self.listener.withLock { $0 = listener }
    }

    fileprivate func tell(_ arrivals: [String: Arrivals]) {
        guard !arrivals.isEmpty, let listener = listener.withLock(\.self) else { return }
        for (route, arrivals) in arrivals { listener(route, arrivals) }
    }
}

/// The outbox memory during a transaction. Slots are taken at once, and given back if the transaction fails. The route is told what arrived
/// once the transaction is durable.
package final class OutboxChanges {
    private let memory: OutboxMemory
    private var arrivals: [String: Arrivals] = [:]
    private var reserved: [OutboxSlot] = []
    private var released: [OutboxSlot] = []

    package init(_ memory: OutboxMemory) {
        self.memory = memory
    }

    package var namedBundleIDs: Set<String> { memory.namedBundleIDs }

    package func arrived(_ device: Arrivals.Device, in route: String) { arrivals[route, default: Arrivals()].devices.append(device) }

    package func arrived(_ call: Arrivals.Call, in route: String) { arrivals[route, default: Arrivals()].calls.append(call) }

    package func changed(_ device: DeviceCode, in route: String) { arrivals[route, default: Arrivals()].changed.append(device) }

    // MARK: Slots

    /// Takes a slot, if one is free.
    package func reserve(_ slot: OutboxSlot) -> Bool {
        guard memory.capacity.withLock({ $0.reserve(slot) }) else { return false }
        reserved.append(slot)
        return true
    }

    /// Gives the slot of a push back that ends in this transaction.
    package func release(_ slot: OutboxSlot) { released.append(slot) }

    /// Gives the slot of a push that ends in this transaction to a new one.
    package func exchange(_ given: OutboxSlot, for taken: OutboxSlot) {
        memory.capacity.withLock { $0.exchange(given, for: taken) }
    }

    package func isNearlyFull(_ queue: OutboxSlot.Queue) -> Bool { memory.capacity.withLock { $0.isNearlyFull(queue) } }

    package func hasRoomForNewDevices(in queue: OutboxSlot.Queue) -> Bool {
        memory.capacity.withLock { $0.hasRoomForNewDevices(in: queue) }
    }

    package func mustCount(_ queue: OutboxSlot.Queue, at now: Timestamp) -> Bool {
        memory.capacity.withLock { $0.mustCount(queue, at: now) }
    }

    package func counted(_ queue: OutboxSlot.Queue, _ count: Int, ofNewDevices newCount: Int, at now: Timestamp) {
        memory.capacity.withLock { $0.counted(queue, count, ofNewDevices: newCount, at: now) }
    }

    package func reject(in route: String) { memory.capacity.withLock { $0.reject(in: route) } }

    /// Uses the devices that make room for a slot.
    ///
    /// - Parameter isOfNewDevices: Whether only devices that never worked make room.
    package func heaviest<Result: Sendable>(
        in queue: OutboxSlot.Queue, isOfNewDevices: Bool, _ body: (inout HeaviestDevices) -> Result
    ) -> Result {
        memory.heaviest.withLock {
            body(&$0[OutboxMemory.Room(queue: queue, isOfNewDevices: isOfNewDevices), default: HeaviestDevices()])
        }
    }

    // MARK: End

    /// Takes effect, because the transaction is durable.
    package func keep() {
        if !released.isEmpty { memory.capacity.withLock { for slot in released { $0.release(slot) } } }
        memory.tell(arrivals)
    }

    /// Gives back what the transaction has taken, because it failed. The route is told all the same: whether the transaction is durable may
    /// be unknown, and a look-up that finds nothing costs little.
    package func abandon() {
        if !reserved.isEmpty { memory.capacity.withLock { for slot in reserved { $0.release(slot) } } }
        memory.tell(arrivals)
    }
}
