import Bytes
import Envelope
import PushProtocol
import StatusCrypto
import Store
import Synchronization
import Tasks
import TestSupport
import Wire

@testable import Delivery
@testable import Engine
@testable import Transport

/// The memory of a server process, from its start to its crash. The real rules run over the real store. The simulation chooses steps
/// instead of the server's tasks.
struct Server {
    /// A recorded, undecided message, and its plaintext.
    struct Undecided {
        var row: Int64
        var testMessage: Int
    }

    static let decider = Decider(
        serverKey: Party.server.key.compressed, registrationPolicy: RegistrationPolicy(), isDryRun: false)
    /// The capacity of the intake. A small one is reached.
    static let maximumQueueCount = 60

    let store: any PushStore
    let configuration: DeliveryConfiguration
    let startedAt: Timestamp
    let startedSteadily: Duration

    var poll: TopicPoll
    var history: HistorySync
    private(set) var directory: TopicDirectory
    /// The hashes of messages that need no further work.
    private let known: SeenHashes
    /// The remaining credits, without those that durable decisions have spent.
    private var allowances = Allowances()
    var undecided: [Undecided] = []
    var replies: [PendingReply] = []
    /// Published replies without a durable publication mark.
    var unmarked: [PendingReply] = []
    var routes: [RouteState]
    /// The pushes to be posted next, by route.
    var looks: [Int: Look] = [:]
    var attempts: [Attempt] = []
    var arrivals = ToldArrivals()

    /// Restores the state in the database.
    init(store: any PushStore, seed: UInt64, at now: Timestamp, steadily: Duration) async throws {
        do {
            var configuration = DeliveryConfiguration(endpoint: .init(url: "http://gorush"))
            configuration.batchMode = seed % 2 == 0 ? .single : .batch
            self = try await Server(store: store, configuration: configuration, at: now, steadily: steadily)
        } catch {
            await store.close()
            throw error
        }
    }

    private init(
        store: any PushStore, configuration: DeliveryConfiguration, at now: Timestamp, steadily: Duration
    ) async throws {
        self.store = store
        self.configuration = configuration
        startedAt = now
        startedSteadily = steadily
        let directory = try await TopicDirectory(serverKey: Party.server.key, store: store)
        self.directory = directory
        let known = SeenHashes()
        self.known = known
        let wants = Self.wants(directory)
        poll = TopicPoll(interval: .milliseconds(500), cacheShare: Network.cacheCapacity)
        history = HistorySync(
            pubsubTopic: Network.pubsubTopic, peerAddress: nil, wants: wants, isKnown: { hash in known.contains(hash) })
        let all = configuration.allRoutes
        routes = all.map { RouteState(route: $0, configuration: configuration, routesOfEndpoint: all.count) }
        store.tell { [arrivals] in arrivals.add($1, of: $0) }
        _ = try await store.takeOverOutbox(routes: configuration.assignments, latest: now.advanced(by: configuration.lifetime))
        let topics = try await store.deliveredBundleIDs()
        for index in routes.indices { routes[index].saved(topics[all[index].name] ?? []) }
        let unfinished = try await store.unfinishedRows()
        for row in try await store.undecided(unfinished.undecided) {
            undecided.append(Undecided(row: row.id, testMessage: Network.testMessage(row.envelope)))
        }
        for (id, receivedAt, reply) in try await store.unreplied(unfinished.unreplied) {
            if let reply = PendingReply(id: id, receivedAt: receivedAt, stored: reply) { replies.append(reply) }
        }
    }

    private static func wants(_ directory: TopicDirectory) -> @Sendable (String) -> Bool {
        { text in Topic(contentTopic: text).map { $0 == Workload.serverTopic || directory.wants($0) } ?? false }
    }

    // MARK: Receiving

    /// Carries out the next action of the poll.
    mutating func receive(from network: inout Network, at now: Timestamp) async -> TopicPoll.Event {
        do {
            switch poll.action.work {
            case .take: return try network.take().map { .took(batch($0)) } ?? .notSubscribed
            case .subscribe:
                try network.subscribe()
                return .subscribed
            case .offer(let batch):
                try await record(batch.wanted, at: now)
                known.insert(batch.hashes)
                return .accepted
            }
        } catch {
            return .failed("\(error)")
        }
    }

    /// Returns the envelopes of a GET as a batch, as the transport does.
    private func batch(_ envelopes: [WakuEnvelope]) -> LiveBatch {
        let wants = Self.wants(directory)
        let readable = envelopes.filter { $0.isReadable || !wants($0.message.contentTopic) }
        var seen: Set<Digest32> = []
        let wanted = readable.filter { envelope in
            wants(envelope.message.contentTopic) && !known.contains(envelope.hash) && seen.insert(envelope.hash).inserted
        }
        return LiveBatch(wanted: wanted, hashes: readable.map(\.hash), unreadableCount: envelopes.count - readable.count)
    }

    /// Carries out the next action of the history.
    mutating func catchUp(from network: inout Network, at now: Timestamp) async -> HistorySync.Event {
        do {
            switch history.action.work {
            case .load: return .loaded(try await store.checkpoints(of: Network.pubsubTopic)[Network.pubsubTopic])
            case .wait: return .waited
            case .loadHoles: return .holes(try await store.holes(of: Network.pubsubTopic).holes.map(\.period))
            case .ask(let query): return .page(try network.page(query))
            case .offer(let envelopes, let hashes):
                try await record(envelopes, at: now)
                known.insert(hashes)
                return .accepted
            case .save(let checkpoint, _):
                try await store.save(HistoryProgress(of: Network.pubsubTopic, checkpoint: checkpoint))
                return .saved
            }
        } catch {
            return .failed(.other, "\(error)")
        }
    }

    private mutating func record(_ envelopes: [WakuEnvelope], at now: Timestamp) async throws {
        // The engine records only messages of the versions that it reads, and so does this.
        let readable = envelopes.filter(\.isReadable)
        let rows = try await store.record(readable.map { ($0.hash, $0) }, at: now)
        for case (let row?, let envelope) in zip(rows, readable) {
            undecided.append(Undecided(row: row, testMessage: Network.testMessage(envelope)))
        }
    }

    // MARK: Deciding

    struct Decided {
        /// The messages with a durable decision.
        var messages: [Undecided] = []
        /// The messages whose decision failed. After a crash it may turn out to be durable.
        var failed: [Undecided] = []
    }

    /// Decides the first `count` messages in one transaction, as `CommitStage` does.
    mutating func decide(_ count: Int, _ testMessages: [TestMessage], at now: Timestamp, steadily: Duration) async -> Decided {
        let work = undecided.prefix(count).map { opened($0, testMessages) }
        guard !work.isEmpty else { return Decided() }
        allowances.now = steadyNow(steadily)
        let committed = await store.commit(work, at: now) { [allowances] messages in
            var lookups = Self.decider.lookups(about: messages)
            lookups.allowances = allowances
            return lookups
        } deciding: {
            Self.decider.decide($0, at: now, in: &$1)
        }
        for change in committed.topicChanges {
            switch change {
            case .added(let added): directory.add(registration: added.registration, topics: added.topics)
            case .removed(let removed): directory.remove(registration: removed.registration, topics: removed.topics)
            }
        }
        var decided = Decided()
        for (outcome, message) in zip(committed.outcomes, undecided) {
            switch outcome {
            case .success(let outcome):
                decided.messages.append(message)
                if let reply = outcome.reply { replies.append(reply) }
                for spending in outcome.spendings { allowances.spend(spending) }
            case .failure(let error):
                // The store is away, so the message waits. Or an earlier attempt has decided it: the store has the reply.
                decided.failed.append(message)
                if StoreFault(error) != .taken { undecided.append(message) }
                let stored = StoreFault(error) == .taken ? (try? await store.unreplied([message.row])) ?? [] : []
                replies += stored.compactMap { PendingReply(id: $0.id, receivedAt: $0.receivedAt, stored: $0.reply) }
            }
        }
        // Newer replies to the same installation supersede these.
        let superseded = Set(committed.supersededReplies)
        replies.removeAll { superseded.contains($0.id) }
        undecided.removeFirst(work.count)
        return decided
    }

    private func opened(_ message: Undecided, _ testMessages: [TestMessage]) -> OpenedEnvelope {
        let testMessage = testMessages[message.testMessage]
        return OpenedEnvelope(id: message.row, content: .message(testMessage.body, from: testMessage.origin))
    }

    // MARK: Replying

    /// Publishes the first reply.
    mutating func reply(to network: inout Network) -> (row: Int64, completion: PendingReply.Completion, payload: [UInt8])? {
        guard let reply = replies.first else { return nil }
        replies.removeFirst()
        do {
            try network.publishReply(to: Int(reply.id), reply.payload)
            unmarked.append(reply)
            return (reply.id, reply.completion, reply.payload)
        } catch {
            replies.append(reply)
            return nil
        }
    }

    /// Stores the publication marks of published replies.
    mutating func mark(at now: Timestamp) async {
        let marks = unmarked
        let committed = await store.commit(marks.map { ($0.id, $0.completion) }, at: now) { _ in
            Lookups()
        } deciding: { mark, batch in
            switch mark.1 {
            case .reply: batch.markPublished([mark.0])
            case .erasedReply: batch.eraseReplies([mark.0])
            case .decision: batch.decide(mark.0, as: .silent)
            }
        }
        unmarked = zip(marks, committed.outcomes).compactMap { reply, outcome in (try? outcome.get()) == nil ? reply : nil }
    }
}

/// Hashes that both the poll and the history know.
final class SeenHashes: Sendable {
    private let hashes = Mutex<Set<Digest32>>([])

    func contains(_ hash: Digest32) -> Bool { hashes.withLock { $0.contains(hash) } }
    func insert(_ new: [Digest32]) { hashes.withLock { $0.formUnion(new) } }
}
