import Bytes
import Envelope
import StatusCrypto
import Synchronization
import Tasks
import WakuREST
import Wire

/// Publishes the kit's messages, and delivers replies to its keys' mailboxes. All rules in a run share it.
final class Network: Sendable {
    /// The interval between two reads from the node. The quickest server replies within a few milliseconds.
    private static let pollInterval = Duration.milliseconds(25)
    /// Even a slow node lists a run's messages within seconds.
    private static let listingTimeout = Duration.seconds(60)
    /// The maximum number of content topics in a store query with several pages (WAKU_REST.md §1.5).
    private static let maximumTopicCountPerQuery = 10
    /// The tolerance between clocks: a store sorts by the time that a sender claims, and keeps messages whose time is wrong by at most 20 s
    /// (WAKU_REST.md §1.5). Server and kit may differ in opposite directions.
    static let clockTolerance = Duration.seconds(40)

    private struct State {
        var mailboxes: [Topic: [Mailbox]] = [:]
        var seen: Set<Digest32> = []
        var lastTimestamp: Int64 = 0
    }

    fileprivate struct Reading {
        /// How many calls wait for messages on each topic. The store is read only for these topics.
        var interest: [Topic: Int] = [:]
        /// The numbers of begun and of completed reads.
        var begun = 0
        var completed = 0
    }

    private let node: ConformanceNode
    private let wallClock: WallClock
    private let clock: any Clock<Duration>
    private let start: Timestamp
    private let look: @Sendable (Mailbox.Arrival, Network) -> Void
    private let state = Mutex(State())
    private let reading = Monitor(Reading())
    /// A server derives a key for each topic of a new owner's first query, 18 ms in all, and may do so for one owner after another
    /// (PROTOCOL.md §2).
    let newOwners = ConcurrencyLimiter(limit: 4)
    /// A node publishes its messages one after another (WAKU_REST.md §1.2). The slot also keeps the messages in order.
    private let publishing = ConcurrencyLimiter(limit: 1)

    /// - Parameter look: Gets each envelope that arrives for a mailbox.
    init(
        _ node: ConformanceNode, wallClock: WallClock, clock: any Clock<Duration>,
        look: @escaping @Sendable (Mailbox.Arrival, Network) -> Void = { _, _ in }
    ) {
        self.node = node
        self.look = look
        self.wallClock = wallClock
        self.clock = clock
        start = wallClock.now().advanced(by: .zero - Self.clockTolerance)
    }

    /// Marks the messages that the node already has as read: an earlier run with the same seed had the same keys.
    func skipEarlierMessages() async throws {
        for pubsubTopic in node.pubsubTopics { try await skipEarlierMessages(on: pubsubTopic) }
    }

    private func skipEarlierMessages(on pubsubTopic: String) async throws {
        guard node.reception == .store else {
            _ = try await node.retrying(clock) { [node] () async throws(NodeError) in try await node.api.takeMessages(on: pubsubTopic) }
            return
        }
        var query = StoreQuery()
        query.pubsubTopic = pubsubTopic
        query.startTime = start
        query.includesData = false
        do throws(NodeError) {
            _ = try await withTimeout(Self.listingTimeout, clock: clock) { [self, query] () async throws(NodeError) in
                try await node.api.storeMessages(query) { page in
                    let hashes = page.rows.compactMap(\.digest)
                    state.withLock { $0.seen.formUnion(hashes) }
                }
            }
        } catch {
            // go-waku does not list the history of a whole shard (WAKU_REST.md §1.5). Other failures come again at the next request.
        }
    }

    var now: Timestamp { wallClock.now() }
    /// The times that a message of the run may have.
    var times: ClosedRange<Timestamp> { start...now.advanced(by: Self.clockTolerance) }
    var secondPubsubTopic: String? { node.secondPubsubTopic }

    /// Creates a mailbox, which gets all later messages for the key.
    ///
    /// - Parameter topic: The topic. Nil means that of replies to the key.
    func open(_ key: PrivateKey, on topic: Topic? = nil) -> Mailbox {
        let mailbox = Mailbox(key: key, topic: topic)
        state.withLock { $0.mailboxes[mailbox.topic, default: []].append(mailbox) }
        return mailbox
    }

    /// Puts a payload into an envelope with a unique time, so that no two envelopes have the same hash.
    ///
    /// - Parameter pubsubTopic: The shard. Nil means the first.
    func envelope(_ payload: [UInt8], on topic: Topic, of pubsubTopic: String? = nil) -> WakuEnvelope {
        var message = WakuMessage()
        message.payload = payload
        message.contentTopic = topic.contentTopic
        message.version = RFC26.messageVersion
        message.timestamp = state.withLock { state in
            state.lastTimestamp = max(wallClock.now().nanoseconds, state.lastTimestamp + 1)
            return state.lastTimestamp
        }
        return WakuEnvelope(pubsubTopic: pubsubTopic ?? node.pubsubTopic, message: message)
    }

    /// Publishes an envelope. Returns when the node has accepted it.
    func publish(_ envelope: WakuEnvelope) async throws {
        try await publishing.acquire()
        defer { publishing.release() }
        try await node.retrying(clock) { [node] () async throws(NodeError) in
            do throws(NodeError) {
                try await node.api.publish(envelope)
            } catch .refused(400, let text) where text.contains("not subscribed") {
                // No other program reads this topic at the node, so the subscription does not take messages from anyone (WAKU_REST.md
                // §1.2).
                try await node.api.subscribe(to: [envelope.pubsubTopic])
                try await node.api.publish(envelope)
            }
        }
    }

    /// Waits for the first matching message in a mailbox after a mark.
    ///
    /// - Returns: The message, or nil if even a read that starts after the time has not found it.
    func first(
        in mailbox: Mailbox, after mark: Int, within time: Duration, where matches: @escaping @Sendable (Mailbox.Received) -> Bool
    ) async -> Mailbox.Received? {
        watch(mailbox)
        defer { unwatch(mailbox) }
        if let message = await withTimeout(time, clock: clock, { await mailbox.first(after: mark, where: matches) }) ?? nil {
            return message
        }
        await read()
        return mailbox.messages(after: mark).first(where: matches)
    }

    /// Reads the topic of a mailbox until ``unwatch(_:)``, or the end of the run.
    func watch(_ mailbox: Mailbox) { reading.update { $0.interest[mailbox.topic, default: 0] += 1 } }

    func unwatch(_ mailbox: Mailbox) {
        reading.update { reading in
            let count = reading.interest[mailbox.topic, default: 1] - 1
            reading.interest[mailbox.topic] = count > 0 ? count : nil
        }
    }

    /// Waits for a read that starts now: a slow machine must not fail the server.
    func read() async {
        let begun = reading.read(\.begun)
        await reading.wait { $0.completed > begun ? () : nil }
    }

    /// Reads the node until the task is cancelled.
    ///
    /// - Throws: `NodeError` if the node fails repeatedly.
    func run() async throws {
        while let (topics, number) = await reading.wait(for: { $0.begin() }) {
            for envelope in try await node.retrying(clock, { [self] () async throws(NodeError) in try await messages(on: topics) }) {
                deliver(envelope)
            }
            reading.update { $0.completed = number }
            try await clock.sleep(for: Self.pollInterval)
        }
    }

    /// Ends the reading of the topics of late replies.
    func forget() { reading.update { $0.interest = [:] } }

    /// Ends all reading, and waits for the read in progress. Interrupting a read could lose other programs' messages, or leave a connection
    /// half open.
    func finish() async {
        forget()
        await reading.wait { $0.begun == $0.completed ? () : nil }
    }

    private func deliver(_ envelope: WakuEnvelope) {
        guard let topic = Topic(contentTopic: envelope.message.contentTopic) else { return }
        let mailboxes = state.withLock { state -> [Mailbox] in
            guard let mailboxes = state.mailboxes[topic], state.seen.insert(envelope.hash).inserted else { return [] }
            return mailboxes
        }
        for mailbox in mailboxes {
            if let arrival = mailbox.deliver(envelope, now: wallClock.now()) { look(arrival, self) }
        }
    }

    private func messages(on topics: [Topic]) async throws(NodeError) -> [WakuEnvelope] {
        switch node.reception {
        case .store: return try await stored(topics)
        case .relayCache:
            var envelopes: [WakuEnvelope] = []
            for pubsubTopic in node.pubsubTopics {
                if let taken = try await node.api.takeMessages(on: pubsubTopic) {
                    envelopes += taken
                } else {
                    // At go-waku a second subscription would create another cache (WAKU_REST.md §1.2).
                    try await node.api.subscribe(to: [pubsubTopic])
                }
            }
            return envelopes
        }
    }

    /// Reads the node's store, whose pages might never end.
    private func stored(_ topics: [Topic]) async throws(NodeError) -> [WakuEnvelope] {
        let listed = try await withTimeout(Self.listingTimeout, clock: clock) { [self] () async throws(NodeError) in
            try await allStored(topics)
        }
        guard let listed else { throw .unintelligible("its store's pages do not end") }
        return listed
    }

    private func allStored(_ topics: [Topic]) async throws(NodeError) -> [WakuEnvelope] {
        var query = StoreQuery()
        query.startTime = start
        var remaining = topics.map(\.contentTopic)[...]
        var envelopes: [WakuEnvelope] = []
        while !remaining.isEmpty {
            query.contentTopics = Array(remaining.prefix(Self.maximumTopicCountPerQuery))
            remaining = remaining.dropFirst(Self.maximumTopicCountPerQuery)
            for pubsubTopic in node.pubsubTopics {
                query.pubsubTopic = pubsubTopic
                try await node.api.storeMessages(query) { page in envelopes += page.rows.compactMap(\.envelope) }
            }
        }
        return envelopes
    }
}

extension Network.Reading {
    /// Starts a read if a caller waits for messages.
    ///
    /// - Returns: The topics and the read's number, or nil if nobody waits.
    fileprivate mutating func begin() -> (topics: [Topic], number: Int)? {
        guard !interest.isEmpty else { return nil }
        begun += 1
        return (Array(interest.keys), begun)
    }
}
