import Bytes
import Envelope
import StatusCrypto
import Wire

/// Holds messages on unknown topics for a few seconds, because a query can arrive before the registration that creates its topic is
/// committed.
struct UnwantedMessageCache {
    struct Entry: Equatable {
        var envelope: WakuEnvelope
        var hash: Digest32
    }

    /// An entry's lifetime: the time within which the receiver decides a registration and is interested in its topics.
    static let lifetime = HistorySync.topicDelay
    /// The maximum payload of an entry. A query for a hundred keys takes 10 KB. Longer messages arrive on the server's own topics.
    static let maximumPayloadByteCount = 16 << 10
    /// The maximum total of payloads: hundreds of messages a second on a busy shard.
    static let maximumByteCount = 4 << 20

    /// The entries by time of arrival.
    private var entries: [(entry: Entry, end: Timestamp)] = []
    private var byteCount = 0

    var contentTopics: Set<String> { Set(entries.map(\.entry.envelope.message.contentTopic)) }

    mutating func add(_ envelope: WakuEnvelope, hash: Digest32, at now: Timestamp) {
        let size = envelope.message.payload.count
        guard size <= Self.maximumPayloadByteCount, byteCount + size <= Self.maximumByteCount else { return }
        entries.append((Entry(envelope: envelope, hash: hash), now.advanced(by: Self.lifetime)))
        byteCount += size
    }

    /// Removes and returns the entries that are wanted now, and drops expired entries.
    mutating func take(at now: Timestamp, where wants: (_ contentTopic: String) -> Bool) -> [Entry] {
        var wanted: [Entry] = []
        entries.removeAll { entry, end in
            let isWanted = wants(entry.envelope.message.contentTopic)
            if isWanted { wanted.append(entry) }
            guard isWanted || end.isOver(at: now, length: Self.lifetime) else { return false }
            byteCount -= entry.envelope.message.payload.count
            return true
        }
        return wanted
    }
}
