import Envelope
import PushProtocol
import Synchronization

/// What is known of the outbox without asking the database. A transaction that fails may have taken places for nothing: the queue is
/// counted anew before it refuses anything.
final class OutboxMemory: Sendable {
    let turns = Mutex(OutboxTurns())
    let room: Mutex<OutboxRoom>

    init(maximumQueueCount: Int) {
        room = Mutex(OutboxRoom(maximumCount: maximumQueueCount))
    }
}

/// What a transaction takes of it.
final class OutboxChanges {
    private let memory: OutboxMemory
    private var given = OutboxTurns.Given()

    init(_ memory: OutboxMemory) {
        self.memory = memory
    }

    /// The turn of a push that is put into the queue of a route.
    func turn(for target: Installation, in route: String) -> Int64 {
        memory.turns.withLock { $0.next(for: target, in: route, after: &given) }
    }

    func takePlace(in route: String, isProven: Bool, at now: Timestamp, counting count: () throws -> Int) rethrows -> Bool {
        try memory.room.withLock { try $0.take(in: route, isProven: isProven, at: now, counting: count) }
    }

    /// The first turn that waits.
    func reach(_ turn: Int64, in route: String) {
        memory.turns.withLock { $0.reach(turn, in: route) }
    }

    /// The transaction is durable.
    func keep() {
        memory.turns.withLock { $0.keep(given) }
    }
}
