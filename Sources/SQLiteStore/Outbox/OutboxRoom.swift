import Envelope

/// How many pushes may wait for a route. A quarter of the places is kept for targets that have taken a push before: whatever strangers
/// register, they get their pushes.
struct OutboxRoom: Sendable {
    /// To count a queue takes some 50 ms of the writer at a million rows, and only a full one is counted.
    private static let countInterval = Duration.seconds(10)

    let maximumCount: Int

    private struct Queue {
        /// At most so many wait.
        var count: Int
        var countedAt: Timestamp
        var refusedCount = 0
    }

    private var queues: [String: Queue] = [:]

    init(maximumCount: Int) {
        self.maximumCount = maximumCount
    }

    /// Takes a place in the queue of a route.
    ///
    /// - Parameter count: counts what waits.
    /// - Returns: false: there is none.
    mutating func take(in route: String, isProven: Bool, at now: Timestamp, counting count: () throws -> Int) rethrows -> Bool {
        let limit = isProven ? maximumCount : maximumCount - maximumCount / 4
        var queue = try queues[route] ?? Queue(count: count(), countedAt: now)
        defer { queues[route] = queue }
        // What has gone since it was counted is not known.
        let isFresh = queue.countedAt <= now && now < queue.countedAt.advanced(by: Self.countInterval)
        if queue.count >= limit, !isFresh {
            queue.count = try count()
            queue.countedAt = now
        }
        guard queue.count < limit else {
            queue.refusedCount += 1
            return false
        }
        queue.count += 1
        return true
    }

    /// How many found no place, by route.
    var refusedCounts: [String: Int] { queues.compactMapValues { $0.refusedCount > 0 ? $0.refusedCount : nil } }
}
