import Bytes
import Envelope
import JSON
import StatusCrypto
import Synchronization
import TestServers
import TestSupport
import Wire

@testable import Transport
@testable import WakuREST

/// A node's store and a receiver in memory, for tests of `HistorySync`.
final class HistoryWorld: Sendable {
    struct Row {
        var envelope: WakuEnvelope
        var digest: Digest32
        /// The digest in nwaku's notation.
        var hash: String
        var timestamp: Int64
    }

    struct State {
        /// The archived messages in ascending order of time.
        var archive: [Row] = []
        var known: Set<Digest32> = []
        var wantedTopics: Set<String> = []
        /// The messages that the receiver has accepted, in order.
        var accepted: [WakuEnvelope] = []
        var acceptedDigests: Set<Digest32> = []
        var saved: [Timestamp] = []
        /// What was saved with each checkpoint.
        var findings: [HistorySync.Findings] = []
        /// The holes that are stored.
        var holes: [ClosedRange<Timestamp>] = []
        var queries: [StoreQuery] = []
        /// The number of gaps that the last run has filled.
        var filledGapCount = 0
        var now = HistoryWorld.start
        /// Whether the store responds to a cursor with an empty last page.
        var losesItsWay = false
    }

    static let start = Timestamp(nanoseconds: 1_700_000_000_000_000_000)
    static let wanted = Topic(rawValue: 1).contentTopic
    static let foreign = Topic(rawValue: 2).contentTopic

    let state = Mutex(State())

    init() {
        state.withLock { $0.wantedTopics = [Self.wanted] }
    }

    var now: Timestamp { state.withLock(\.now) }
    var accepted: [WakuEnvelope] { state.withLock(\.accepted) }
    var saved: [Timestamp] { state.withLock(\.saved) }
    var queries: [StoreQuery] { state.withLock(\.queries) }
    var filledGapCount: Int { state.withLock(\.filledGapCount) }

    func history() -> HistorySync {
        HistorySync(
            pubsubTopic: TestNode.topic, peerAddress: nil, wants: { topic in self.state.withLock { $0.wantedTopics.contains(topic) } },
            isKnown: { hash in self.state.withLock { $0.known.contains(hash) } })
    }

    func advance(by duration: Duration) {
        state.withLock { $0.now = $0.now.advanced(by: duration) }
    }

    /// Adds a message to the store that was sent this long ago.
    @discardableResult
    func archive(_ age: Duration, contentTopic: String = HistoryWorld.wanted, number: Int = 0) -> WakuEnvelope {
        var message = WakuMessage()
        message.payload = [1] + (0..<8).map { UInt8(truncatingIfNeeded: number >> (8 * $0)) }
        message.contentTopic = contentTopic
        message.version = 1
        message.timestamp = now.advanced(by: .zero - age).nanoseconds
        let envelope = WakuEnvelope(pubsubTopic: TestNode.topic, message: message)
        let digest = envelope.hash
        let row = Row(
            envelope: envelope, digest: digest, hash: Hex.encode(digest.bytes, prefix: "0x"), timestamp: message.timestamp ?? 0)
        state.withLock { state in
            let index = state.archive.firstIndex { ($0.timestamp, $0.hash) > (row.timestamp, row.hash) }
            state.archive.insert(row, at: index ?? state.archive.endIndex)
        }
        return envelope
    }

    /// Returns the number of wanted messages that were sent until a time and that the receiver lacks.
    func missing(until end: Timestamp) -> Int {
        state.withLock { state in
            state.archive.count {
                $0.timestamp <= end.nanoseconds && state.wantedTopics.contains($0.envelope.message.contentTopic)
                    && !state.acceptedDigests.contains($0.digest)
            }
        }
    }

    /// Returns a page of a store whose pages do not end.
    func endlessPage(_ number: Int) -> StorePage {
        var page = StorePage()
        page.rows = [StorePage.Row(hash: "\(number)")]
        page.cursor = "\(number)"
        return page
    }

    func know(_ envelope: WakuEnvelope) {
        state.withLock { _ = $0.known.insert(envelope.hash) }
    }

    func accept(_ envelopes: [WakuEnvelope]) {
        state.withLock { state in
            state.accepted += envelopes
            state.acceptedDigests.formUnion(envelopes.map(\.hash))
        }
    }

    /// Carries out the work like a node and a receiver without faults.
    func carryOut(_ work: HistorySync.Work, checkpoint: Timestamp? = nil) throws -> HistorySync.Event {
        switch work {
        case .load: return .loaded(saved.last ?? checkpoint)
        case .wait: return .waited
        case .ask(let query): return .page(try page(query))
        case .offer(let envelopes, let hashes):
            accept(envelopes)
            state.withLock { $0.known.formUnion(hashes) }
            return .accepted
        case .save(let checkpoint, let findings):
            state.withLock { state in
                state.saved.append(checkpoint)
                state.findings.append(findings)
            }
            return .saved
        case .loadHoles: return .holes(state.withLock(\.holes))
        }
    }

    /// Carries out the history's work until it waits for a gap or for the next comparison.
    ///
    /// - Returns: The history's actions in the process.
    @discardableResult
    func run(_ history: inout HistorySync, checkpoint: Timestamp? = nil) throws -> [HistorySync.Action] {
        var actions: [HistorySync.Action] = []
        for _ in 0..<Self.maximumStepCount {
            if history.action.work == .wait, [nil, HistorySync.interval].contains(history.action.delay) {
                state.withLock { $0.filledGapCount = actions.reduce(0) { $0 + $1.filledGapCount } }
                return actions
            }
            if let delay = history.action.delay { advance(by: delay) }
            actions.append(history.note(try carryOut(history.action.work, checkpoint: checkpoint), at: now))
        }
        throw Endless(action: history.action)
    }

    /// Carries out the history's work, without a delay, until its action or the world meets a condition.
    func run(_ history: inout HistorySync, until isReached: (HistorySync.Action) -> Bool) throws {
        for _ in 0..<Self.maximumStepCount {
            if isReached(history.action) { return }
            history.note(try carryOut(history.action.work), at: now)
        }
        throw Endless(action: history.action)
    }

    /// More steps than any test needs. Without the limit a history that never comes to rest would hang the run: these loops do not wait, so
    /// no time-out could cancel them.
    private static let maximumStepCount = 100_000

    /// The history did not come to the end of its work.
    struct Endless: Error {
        var action: HistorySync.Action
    }

    /// Returns a page as nwaku does (WAKU_REST.md §1.5).
    func page(_ query: StoreQuery) throws -> StorePage {
        state.withLock { $0.queries.append(query) }
        var rows = state.withLock(\.archive)
        if let start = query.startTime { rows.removeAll { $0.timestamp < start.nanoseconds } }
        if let end = query.endTime { rows.removeAll { $0.timestamp > end.nanoseconds } }
        if !query.hashes.isEmpty { rows.removeAll { !query.hashes.contains($0.hash) } }
        if query.cursor != nil, state.withLock(\.losesItsWay) { return StorePage() }
        if let cursor = query.cursor, let index = rows.firstIndex(where: { $0.hash == cursor }) { rows.removeFirst(index + 1) }
        let page = rows.prefix(query.pageSize)
        let messages = page.map { row in
            let hash = "\"messageHash\":\"\(row.hash)\""
            guard query.includesData else { return "{\(hash)}" }
            return "{\(hash),\"message\":\(MessageJSON.request(row.envelope.message)),\"pubsubTopic\":\"\(row.envelope.pubsubTopic)\"}"
        }
        let cursor = rows.count > page.count ? page.last.map { ",\"paginationCursor\":\"\($0.hash)\"" } ?? "" : ""
        let text = "{\"statusCode\":200,\"statusDesc\":\"OK\",\"messages\":[\(messages.joined(separator: ","))]\(cursor)}"
        return try JSONReader.read(Array(text.utf8)) { reader throws(JSONError) in try StoreResponseJSON(reading: &reader) }.page
    }
}
