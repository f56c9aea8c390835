import Bytes
import Envelope
import StatusCrypto
import TestServers
import TestSupport
import WakuREST
import Wire

@testable import Transport

/// A node with a store, and with a cache that a GET empties. The network repeats, reorders and delays messages and makes twins of them.
struct Network {
    static let pubsubTopic = TestNode.topic

    struct Row {
        var envelope: WakuEnvelope
        var hash: Digest32
        var isTwin: Bool
    }

    private struct ArchiveKey: Hashable {
        var hash: Digest32
        var isTwin: Bool
    }

    /// The faults of the node. Each lasts until an event ends it.
    struct Faults {
        var isAway = false
        /// Whether a GET empties the cache, but its response does not arrive.
        var losesAnswers = false
        var losesStoreAnswers = false
        var repeatsRows = false
        var refusesPublishing = false
    }

    var faults = Faults()
    private(set) var isSubscribed = false
    private var cache: [WakuEnvelope] = []
    /// The rows of the node's store, in the order of time.
    private(set) var store: [Row] = []
    /// The keys of the stored rows: for each hash one row, and one of a twin.
    private var archived: Set<ArchiveKey> = []
    /// Messages that are in the node's store, and not yet in its cache.
    private var inFlight: [WakuEnvelope] = []
    /// The server's replies, with the rows of their requests.
    private(set) var replies: [PublishedReply] = []

    static let cacheCapacity = 60

    struct PublishedReply {
        var message: Int
        var payload: [UInt8]
    }

    /// Publishes a message.
    ///
    /// - Parameter twin: Whether an attacker first publishes an envelope with another version, which the hash does not cover.
    mutating func publish(testMessage: Int, on topic: Topic, at now: Timestamp, twin: Bool = false) {
        var message = WakuMessage()
        message.payload = (0..<8).map { UInt8(truncatingIfNeeded: testMessage >> (8 * $0)) }
        message.contentTopic = topic.contentTopic
        message.version = RFC26.messageVersion
        message.timestamp = now.nanoseconds
        if twin {
            var other = message
            other.version = 2
            enter(other)
        }
        enter(message)
    }

    /// Adds a message to the node's store at once, and to its cache later.
    private mutating func enter(_ message: WakuMessage) {
        let envelope = WakuEnvelope(pubsubTopic: Self.pubsubTopic, message: message)
        inFlight.append(envelope)
        archive(envelope)
    }

    static func testMessage(_ envelope: WakuEnvelope) -> Int {
        envelope.message.payload.reversed().reduce(0) { $0 << 8 | Int($1) }
    }

    /// Moves some messages into the node's cache, in any order, some of them twice.
    mutating func travel(using random: inout SplitMix64) {
        inFlight.shuffle(using: &random)
        for _ in 0..<Int.random(in: 0...inFlight.count, using: &random) {
            let envelope = inFlight.removeLast()
            guard isSubscribed, !faults.isAway else { continue }
            cache.append(envelope)
            if Int.random(in: 0..<8, using: &random) == 0 { cache.append(envelope) }
        }
        if cache.count > Self.cacheCapacity { cache.removeFirst(cache.count - Self.cacheCapacity) }
    }

    private mutating func archive(_ envelope: WakuEnvelope) {
        let row = Row(envelope: envelope, hash: envelope.hash, isTwin: !envelope.isReadable)
        guard archived.insert(ArchiveKey(hash: row.hash, isTwin: row.isTwin)).inserted else { return }
        let index = store.lastIndex { $0.envelope.message.timestamp ?? 0 <= envelope.message.timestamp ?? 0 }
        store.insert(row, at: index.map { $0 + 1 } ?? 0)
    }

    mutating func restart() {
        isSubscribed = false
        cache = []
    }

    struct Unreachable: Error {}

    // MARK: Requests of a server

    mutating func subscribe() throws(Unreachable) {
        if faults.isAway { throw Unreachable() }
        isSubscribed = true
    }

    /// Takes the messages from the cache.
    ///
    /// - Returns: The messages, or nil if the server is not subscribed.
    mutating func take() throws(Unreachable) -> [WakuEnvelope]? {
        if faults.isAway { throw Unreachable() }
        guard isSubscribed else { return nil }
        defer { cache = [] }
        if faults.losesAnswers { throw Unreachable() }
        return cache
    }

    func page(_ query: StoreQuery) throws(Unreachable) -> StorePage {
        if faults.isAway || faults.losesStoreAnswers { throw Unreachable() }
        var rows = store
        if let start = query.startTime { rows.removeAll { $0.envelope.message.timestamp ?? 0 < start.nanoseconds } }
        if let end = query.endTime { rows.removeAll { $0.envelope.message.timestamp ?? 0 > end.nanoseconds } }
        if !query.hashes.isEmpty { rows.removeAll { !query.hashes.contains(Self.text($0.hash)) } }
        if let cursor = query.cursor, let index = rows.lastIndex(where: { Self.text($0.hash) == cursor }) { rows.removeFirst(index + 1) }
        // Twins have one cursor and are on one page.
        var count = min(rows.count, query.pageSize)
        while count < rows.count, count > 0, rows[count].hash == rows[count - 1].hash { count += 1 }
        var page = Array(rows.prefix(count))
        let cursor = rows.count > page.count ? page.last.map { Self.text($0.hash) } : nil
        if faults.repeatsRows { page += page }
        guard let read = try? StorePage(reading: page, cursor: cursor, includesData: query.includesData) else { throw Unreachable() }
        return read
    }

    mutating func publishReply(to message: Int, _ payload: [UInt8]) throws(Unreachable) {
        if faults.isAway || faults.refusesPublishing { throw Unreachable() }
        replies.append(PublishedReply(message: message, payload: payload))
    }

    static func text(_ hash: Digest32) -> String { Hex.encode(hash.bytes, prefix: "0x") }
}
