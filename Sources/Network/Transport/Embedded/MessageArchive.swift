import Bytes
import Envelope
import StatusCrypto
import Wire

/// A node's store: messages ordered by (timestamp, hash), returned in pages (WAKU_REST.md §1.5).
struct MessageArchive {
    /// The maximum difference between a message's timestamp and the archive's clock.
    static let clockTolerance = Duration.seconds(20)
    /// A few minutes of a busy shard. That is enough for tests and demonstrations, and queries take well under a millisecond.
    static let maximumMessageCount = 10_000
    /// Bounds the payloads, so that large messages do not take ten gigabytes.
    static let maximumPayloadByteCount = 64 << 20

    /// A position in the archive's order.
    struct Position: Comparable {
        var timestamp: Int64
        var hash: Digest32

        static func < (left: Position, right: Position) -> Bool {
            guard left.timestamp == right.timestamp else { return left.timestamp < right.timestamp }
            return left.hash.bytes.lexicographicallyPrecedes(right.hash.bytes)
        }
    }

    struct Entry {
        var position: Position
        var envelope: WakuEnvelope
    }

    struct Query: Equatable {
        /// The pubsub topic, or nil for all.
        var pubsubTopic: String?
        /// The content topics, or empty for all.
        var contentTopics: [String] = []
        /// The time range in nanoseconds since 1970, including both ends.
        var startTime: Int64?
        var endTime: Int64?
        /// The hashes, or empty for all.
        var hashes: [Digest32] = []
        /// The row after which the page begins.
        var cursor: Digest32?
        var isAscending = true
        var pageSize = 20
    }

    struct Page {
        /// The entries in ascending order, also when paging backwards.
        var entries: [Entry]
        /// The last row of this page in the direction of paging, or nil if no more follow.
        var cursor: Digest32?
    }

    private var entries: [Entry] = []
    private var timestamps: [Digest32: Int64] = [:]
    private var payloadByteCount = 0

    /// Keeps a message that is not ephemeral, has a current timestamp and is unknown. At a limit the oldest messages are dropped.
    ///
    /// - Returns: Whether the message was added.
    @discardableResult
    mutating func add(_ envelope: WakuEnvelope, hash: Digest32, now: Timestamp) -> Bool {
        let message = envelope.message
        let earliest = now.advanced(by: .zero - Self.clockTolerance).nanoseconds
        let latest = now.advanced(by: Self.clockTolerance).nanoseconds
        guard !message.ephemeral, (earliest...latest).contains(message.timestamp ?? 0) else { return false }
        return restore(envelope, hash: hash)
    }

    /// Adds a message from the file, however old it is.
    ///
    /// - Returns: False if it is already present.
    @discardableResult
    mutating func restore(_ envelope: WakuEnvelope, hash: Digest32) -> Bool {
        guard timestamps[hash] == nil else { return false }
        let message = envelope.message
        let position = Position(timestamp: message.timestamp ?? 0, hash: hash)
        entries.insert(Entry(position: position, envelope: envelope), at: firstIndex { $0 > position })
        timestamps[hash] = position.timestamp
        payloadByteCount += message.payload.count
        while entries.count > Self.maximumMessageCount || payloadByteCount > Self.maximumPayloadByteCount {
            let oldest = entries.removeFirst()
            timestamps[oldest.position.hash] = nil
            payloadByteCount -= oldest.envelope.message.payload.count
        }
        return true
    }

    /// - Returns: The page, or nil if the cursor's row is not in the archive (any more).
    func page(_ query: Query) -> Page? {
        var candidates = entries[...]
        if let cursor = query.cursor {
            guard let timestamp = timestamps[cursor] else { return nil }
            let position = Position(timestamp: timestamp, hash: cursor)
            candidates = query.isAscending ? entries[firstIndex { $0 > position }...] : entries[..<firstIndex { $0 >= position }]
        }
        if let startTime = query.startTime { candidates = candidates.drop { $0.position.timestamp < startTime } }
        if let endTime = query.endTime { candidates = candidates.prefix { $0.position.timestamp <= endTime } }

        let matching = candidates.lazy.filter { matches($0, query) }
        // One entry more than requested shows whether this is the last page.
        let found =
            query.isAscending ? Array(matching.prefix(query.pageSize + 1)) : matching.reversed().prefix(query.pageSize + 1).map(\.self)
        let rows = found.prefix(query.pageSize)
        let cursor = found.count > query.pageSize ? rows.last?.position.hash : nil
        return Page(entries: query.isAscending ? Array(rows) : rows.reversed(), cursor: cursor)
    }

    private func matches(_ entry: Entry, _ query: Query) -> Bool {
        (query.pubsubTopic == nil || query.pubsubTopic == entry.envelope.pubsubTopic)
            && (query.contentTopics.isEmpty || query.contentTopics.contains(entry.envelope.message.contentTopic))
            && (query.hashes.isEmpty || query.hashes.contains(entry.position.hash))
    }

    /// Returns the first index at which the condition holds. It must hold for all later positions.
    private func firstIndex(where condition: (Position) -> Bool) -> Int {
        var low = 0
        var high = entries.count
        while low < high {
            let middle = low + (high - low) / 2
            if condition(entries[middle].position) { high = middle } else { low = middle + 1 }
        }
        return low
    }
}
