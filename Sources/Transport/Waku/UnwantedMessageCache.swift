import Envelope
import StatusCrypto
import Wire

/// Keeps messages that nobody wanted when they came, for some seconds: a query may come beside the registration that it asks for, and is
/// wanted as soon as that has been decided.
struct UnwantedMessageCache {
    struct Entry: Equatable {
        var envelope: WakuEnvelope
        var hash: Digest32
    }

    /// What the receiver needs at most until a registration has made its topics wanted.
    static let lifetime = HistorySync.topicDelay
    /// A query for a hundred keys takes 10 KB; what is longer comes on the server's own topics.
    static let maximumPayloadByteCount = 16 << 10
    /// Payloads: hundreds of messages a second of a busy shard.
    static let maximumByteCount = 4 << 20

    /// In the order in which they came.
    private var entries: [(entry: Entry, end: Timestamp)] = []
    private var byteCount = 0

    mutating func add(_ envelope: WakuEnvelope, hash: Digest32, at now: Timestamp) {
        let size = envelope.message.payload.count
        guard size <= Self.maximumPayloadByteCount, byteCount + size <= Self.maximumByteCount else { return }
        entries.append((Entry(envelope: envelope, hash: hash), now.advanced(by: Self.lifetime)))
        byteCount += size
    }

    /// Takes out what is wanted now, and forgets what is too old.
    mutating func take(at now: Timestamp, where wants: (_ contentTopic: String) -> Bool) -> [Entry] {
        var wanted: [Entry] = []
        entries.removeAll { entry, end in
            let isWanted = wants(entry.envelope.message.contentTopic)
            if isWanted { wanted.append(entry) }
            guard isWanted || end <= now else { return false }
            byteCount -= entry.envelope.message.payload.count
            return true
        }
        return wanted
    }
}
