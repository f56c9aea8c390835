import Bytes
import Envelope
import Wire

/// Notices when a node's own store lacks messages that the node delivered.
///
/// It is told about each poll, and about each period that was listed from the store to the end, so it judges only minutes in which the
/// store responds. All times are on the server's clock.
struct StoreWatch {
    /// The oldest message that a store has to accept. Archives accept 20 s (WAKU_REST.md §1.5). Clocks differ by a few seconds.
    static let maximumAge = Duration.seconds(15)
    /// The minimum number of messages that a store lacks in a bad minute.
    static let minimumLackingCount = 3
    /// The number of bad minutes in a row that make a finding. Each has other causes, such as a restart that empties a store.
    static let minuteCount = 3
    /// The time between two verdicts. A comparison of the history follows a minute after the last, and a gap may come between.
    static let minute = Duration.seconds(55)
    /// The maximum number of messages that wait for their listing: two minutes of 500 a second.
    static let maximumPendingCount = 65_536

    /// Whether the store lacks more than half of the messages that it should have. It starts after three bad minutes in a row, and ends
    /// with a good minute. A minute with few messages is neither.
    private(set) var lacksMessages = false
    /// The messages that are in the store if it works, with their time.
    private var pending: [Digest32: Timestamp] = [:]
    private var lastVerdict: Timestamp?
    private var counts = (found: 0, lacking: 0)
    private var badMinuteCount = 0

    /// The number of messages that wait for their listing.
    var pendingCount: Int { pending.count }

    /// Counts a poll's messages.
    ///
    /// - Parameters:
    ///   - hashes: The messages' hashes, in the same order.
    ///   - time: The response's time.
    mutating func polled(_ envelopes: [WakuEnvelope], hashes: [Digest32], at time: Timestamp) {
        for (envelope, hash) in zip(envelopes, hashes) {
            guard let sent = envelope.message.timestamp.map({ Timestamp(nanoseconds: $0) }) else { continue }
            let age = sent.duration(to: time)
            // If the topic is not UTF-8, the node has another hash.
            guard !envelope.message.ephemeral, age >= .zero, age <= Self.maximumAge, pending.count < Self.maximumPendingCount,
                !envelope.message.contentTopic.unicodeScalars.contains("\u{FFFD}")
            else { continue }
            pending[hash] = sent
        }
    }

    /// Takes hashes that the store has listed.
    mutating func listed(_ hashes: some Sequence<Digest32>) {
        for hash in hashes where pending.removeValue(forKey: hash) != nil { counts.found += 1 }
    }

    /// Judges the last minute, once it is over, after a period was listed to the end.
    mutating func completed(_ period: ClosedRange<Timestamp>, at now: Timestamp) {
        for (hash, sent) in pending where sent <= period.upperBound || sent.ifPast(at: now) == nil {
            pending[hash] = nil
            if period.contains(sent) { counts.lacking += 1 }
        }
        let elapsed = lastVerdict.map { $0.duration(to: now) } ?? Self.minute
        // The clock may have been set back.
        guard elapsed >= Self.minute || elapsed < .zero else { return }
        lastVerdict = now
        let lacksMost = counts.lacking > counts.found
        badMinuteCount = lacksMost && counts.lacking >= Self.minimumLackingCount ? badMinuteCount + 1 : 0
        if badMinuteCount >= Self.minuteCount { lacksMessages = true }
        if !lacksMost, counts.found + counts.lacking >= Self.minimumLackingCount { lacksMessages = false }
        counts = (0, 0)
    }

    /// Forgets everything, because the store does not respond: that is another condition.
    mutating func storeFailed() {
        self = StoreWatch()
    }
}
