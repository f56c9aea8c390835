/// The recently completed sets, up to a maximum number.
struct CompletedSets<Key: Hashable & Sendable>: Sendable {
    private var tickets: [Key: TicketQueue<Entry>.Ticket] = [:]
    private var queue = TicketQueue<Entry>()
    private let maximumCount: Int

    private struct Entry: Sendable {
        var key: Key
        var completedAt: Timestamp
    }

    init(maximumCount: Int) {
        self.maximumCount = maximumCount
    }

    var count: Int { tickets.count }

    func contains(_ key: Key) -> Bool { tickets[key] != nil }

    mutating func insert(_ key: Key, now: Timestamp) {
        // A set whose segments are re-read from the journal may be completed again.
        remove(key)
        tickets[key] = queue.append(Entry(key: key, completedAt: now))
        if count > maximumCount, let oldest = queue.oldest() { remove(oldest.key) }
    }

    /// Removes sets that were completed at or before a time, and sets from the future, where the clock was.
    mutating func removeAll(until moment: Timestamp, at now: Timestamp) {
        while let oldest = queue.oldest(), oldest.completedAt <= moment || oldest.completedAt.ifPast(at: now) == nil { remove(oldest.key) }
    }

    private mutating func remove(_ key: Key) {
        if let ticket = tickets.removeValue(forKey: key) { queue.remove(ticket) }
    }
}
