import DequeModule

/// The messages that a node accepted in the last seconds. If its health then shows that it has no peers, they are lost: a node responds to
/// a POST with 200 even without a peer (WAKU_REST.md §1.2).
struct AcceptedMessages {
    /// How long a message is kept: the time between two readings of the health, and two seconds for the reading itself.
    static let lifetime = WakuNodeLink.healthInterval + .seconds(2)
    /// The limits of kept messages. Beyond them the oldest count as sent, because the node most likely still had its peers.
    static let maximumCount = 16_384
    static let maximumByteCount = 16 << 20

    struct Entry: Sendable {
        var byteCount: Int
        /// Tells the sender that the message is lost.
        var reportLoss: @Sendable () -> Void
    }

    /// The messages with the monotonic time of their acceptance, the oldest first.
    private var entries: Deque<(time: Duration, entry: Entry)> = []
    private var byteCount = 0

    mutating func add(_ entry: Entry, at now: Duration) {
        entries.append((now, entry))
        byteCount += entry.byteCount
        expire(at: now)
    }

    /// Removes and returns the messages of the last seconds, the oldest first.
    mutating func take(at now: Duration) -> [Entry] {
        expire(at: now)
        defer { (entries, byteCount) = ([], 0) }
        return entries.map(\.entry)
    }

    private mutating func expire(at now: Duration) {
        while let oldest = entries.first,
            oldest.time + Self.lifetime < now || entries.count > Self.maximumCount || byteCount > Self.maximumByteCount
        {
            byteCount -= oldest.entry.byteCount
            entries.removeFirst()
        }
    }
}
