import Bytes
import Engine
import Envelope
import Foundation
import GRDB
import Logging
import PushProtocol
import SQLiteStore
import ServiceLifecycle
import StatusCrypto
import Store
import Synchronization
import Tasks
import TestServers
import TestSupport
import Transport
import WakuREST
import Wire

/// An engine over a real database, on a bus that tests publish to and listen on.
final class Harness: ManuallyClocked, Sendable {
    let identity: PrivateKey
    let clock = ManualClock()
    let wallClock = ManualWallClock(Timestamp(nanoseconds: 1_800_000_000_000_000_000))
    /// The messages that the server has published.
    let replies = Recorder<WakuEnvelope>()
    /// The lines that the server has logged.
    let log = Recorder<String>()
    /// The commits that have put pushes into the outbox.
    let accepted = Recorder<Void>()
    private let folder: TemporaryFolder

    init(identity: PrivateKey? = nil) throws {
        var random = SecureRandom()
        self.identity = identity ?? .generate(using: &random)
        folder = try TemporaryFolder()
    }

    /// Creates a harness, and two clients of its server.
    static func withTwoClients() throws -> (Harness, ProtocolClient, ProtocolClient) {
        let harness = try Harness()
        return (harness, ProtocolClient(server: harness.server), ProtocolClient(server: harness.server))
    }

    var server: PublicKey { identity.publicKey }
    var database: String { folder.path("push.sqlite") }

    struct NotReceiving: Error {}

    /// The parts that a test uses while the server runs.
    struct Running: Sendable {
        let engine: Engine
        let store: any PushStore
        fileprivate let transport: TestTransport

        /// Publishes on the network, and retries while the intake is full. The server has recorded the message when this returns.
        func publish(_ envelope: WakuEnvelope) async throws {
            while true {
                do {
                    return try await publishOnce(envelope)
                } catch is Overload {
                    await engine.intake.waitForCapacity()
                    try Task.checkCancellation()
                }
            }
        }

        func publishOnce(_ envelope: WakuEnvelope, origin: EnvelopeOrigin = .live) async throws {
            guard let receiver = transport.receiver.value else { throw NotReceiving() }
            try await receiver.receive([envelope], origin: origin)
        }
    }

    /// Runs the server, and shuts it down as SIGTERM would. Each call uses the same database.
    ///
    /// - Parameters:
    ///   - store: Another database, which is closed at the end.
    ///   - prepare: A function that is called between the opening of the store and the start of the server.
    func withServer(
        policy: RegistrationPolicy = RegistrationPolicy(), isDryRun: Bool = false, publishing: FailingPublisher = FailingPublisher(),
        echoesReplies: Bool = false, maximumIntakeCount: Int = 4_096, maximumIntakeByteCount: Int = 32 << 20,
        maximumReplyCount: Int = 4_096, drainLimit: Duration = .seconds(10), confirmsDelivery: Bool = false,
        deriveTopicKey: @escaping @Sendable (TopicName) -> SymmetricKey = { $0.deriveSymmetricKey() }, store: (any PushStore)? = nil,
        prepare: (any PushStore) async throws -> Void = { _ in },
        _ body: @escaping @Sendable (Running) async throws -> Void
    ) async throws {
        let configuration = Engine.Configuration(
            identity: identity, registrationPolicy: policy, isDryRun: isDryRun, workerCount: 2, echoesReplies: echoesReplies,
            maximumIntakeCount: maximumIntakeCount, maximumIntakeByteCount: maximumIntakeByteCount, maximumReplyCount: maximumReplyCount,
            drainLimit: drainLimit, deriveTopicKey: deriveTopicKey)
        let transport = TestTransport(replies: replies, publishing: publishing)
        try await withServer(
            configuration, confirmsDelivery: confirmsDelivery, store: store, transport: { _ in transport },
            prepare: { store in
                try await prepare(store)
                return { await transport.receiver.wait { $0 != nil } }
            }
        ) { engine, store, transport in
            try await body(Running(engine: engine, store: store, transport: transport))
        }
    }

    /// Runs the server as the other overload does, with another transport.
    ///
    /// - Parameter prepare: A function that is called between the opening of the store and the start of the server. Its result is the
    ///   condition that must hold before the body runs.
    func withServer<Transport: MessageTransport>(
        _ configuration: Engine.Configuration, confirmsDelivery: Bool = false, store: (any PushStore)? = nil,
        transport makeTransport: (any PushStore) -> Transport,
        prepare: (any PushStore) async throws -> @Sendable () async -> Void = { _ in {} },
        _ body: @escaping @Sendable (Engine, any PushStore, Transport) async throws -> Void
    ) async throws {
        let logger = Logger(label: "test") { _ in LogRecorder(messages: self.log) }
        let store =
            try store
            ?? SQLiteStore(path: database, identity: identity.publicKey.compressed, sealingKeys: testSealingKeys, logger: logger)
        let transport = makeTransport(store)
        let engine = Engine(
            configuration: configuration, store: store, directory: try await TopicDirectory(serverKey: server, store: store),
            transport: transport, clock: clock, wallClock: wallClock.clock, logger: logger, confirmsDelivery: { confirmsDelivery },
            onAcceptedPushes: { self.accepted.append(()) })
        let isReceiving = try await prepare(store)
        try await withRunning([engine], closing: store, until: isReceiving) { try await body(engine, store, transport) }
    }

    /// Registers clients without load on the server, which must not be running.
    func register(_ owners: [ProtocolClient]) async throws {
        try await withStore { store in
            try await store.apply(at: self.wallClock.now) { batch in
                for owner in owners {
                    let registration = Registration(
                        keyHash: owner.keyHash, content: owner.registration(), plaintextDigest: Digest32())
                    batch.register(registration, topics: QueryTopics(keyHash: owner.keyHash))
                }
            }
        }
    }

    /// Waits until `count` pushes are in the outbox.
    func waitForPushes(_ count: Int, in store: any PushStore) async throws {
        var commitCount = 0
        while try await store.queuedPushCount() < count {
            commitCount += await accepted.next(after: commitCount).count
            try Task.checkCancellation()
        }
    }

    /// Advances the clock to each sleeper's deadline while the body runs, except for the pruning.
    func whileTimePasses(_ body: () async throws -> Void) async rethrows {
        let passing = Task {
            while !Task.isCancelled { await passTime() }
        }
        defer { passing.cancel() }
        try await body()
    }

    /// Advances the clock to the first deadline, as soon as a task other than the pruning sleeps.
    func passTime() async {
        await clock.sleepers { $0.contains { $0 <= .seconds(30) } }
        guard !Task.isCancelled else { return }
        clock.advance(by: clock.sleepers.first ?? .zero)
    }

    /// Lets the two seconds pass in which the server retries a message that the store rejects.
    ///
    /// - Parameter check: A function that is called before each attempt.
    func passAttempts(_ check: () -> Void) async {
        for _ in 1...19 {
            await clock.sleepers(dueIn: .milliseconds(100))
            check()
            // The extra time wakes the attempt only: the store's probing sleeps too, but is never due after a tenth of a second here.
            clock.advance(by: .milliseconds(110))
        }
    }

    /// Returns the number of replies to the client so far.
    func replyCount(to client: ProtocolClient) -> Int {
        replies.all.compactMap { client.open($0) }.count
    }

    /// Opens the database while no server runs.
    func withStore(_ body: (any PushStore) async throws -> Void) async throws {
        let store = try openStore()
        try await body(store)
        await store.close()
    }

    func openStore() throws -> SQLiteStore {
        try SQLiteStore(path: database, identity: identity.publicKey.compressed, sealingKeys: testSealingKeys, logger: quietLogger)
    }

    /// Changes the database without the server's knowledge. Triggers that fail a write simulate faults.
    func execute(sql: String) throws {
        var configuration = Configuration()
        configuration.busyMode = .timeout(600)  // The server writes too
        let queue = try DatabaseQueue(path: database, configuration: configuration)
        try queue.writeWithoutTransaction { try $0.execute(sql: sql) }
        try queue.close()
    }
}

/// A publisher that rejects or delays the next publications.
final class FailingPublisher: Sendable {
    /// The number of publications that get a response. Others wait.
    let answers = Monitor(Int.max)
    /// The offered messages, in order.
    let offered = Recorder<WakuEnvelope>()
    private let willPublish: @Sendable () -> Void
    private let remaining = Mutex((count: 0, error: TransportError.outdated))
    /// The rejected messages, in order.
    let refused = Recorder<WakuEnvelope>()
    /// What the engine does if the network lost the accepted messages, in order.
    let losses = Recorder<@Sendable () -> Void>()

    init(willPublish: @escaping @Sendable () -> Void = {}) { self.willPublish = willPublish }

    func fail(_ count: Int, with error: TransportError = .node(.refused(status: 500, text: "on purpose"))) {
        remaining.withLock { $0 = (count, error) }
    }

    /// Whether echoes may be published.
    let echoes = Condition(true)

    func check(_ envelope: WakuEnvelope) async throws {
        offered.append(envelope)
        guard await answers.wait(for: { $0 > 0 ? ($0 -= 1) : nil }) != nil else { throw CancellationError() }
        let error = remaining.withLock { remaining -> TransportError? in
            guard remaining.count > 0 else { return nil }
            remaining.count -= 1
            return remaining.error
        }
        guard let error else { return willPublish() }
        refused.append(envelope)
        throw error
    }
}

/// A network of the server and the test only.
final class TestTransport: MessageTransport {
    /// The engine while it receives.
    let receiver = Condition<(any EnvelopeReceiver)?>(nil)
    private let replies: Recorder<WakuEnvelope>
    private let publishing: FailingPublisher

    init(replies: Recorder<WakuEnvelope>, publishing: FailingPublisher) {
        self.replies = replies
        self.publishing = publishing
    }

    func run(receiver: any EnvelopeReceiver) async throws {
        self.receiver.change { $0 = receiver }
        defer { self.receiver.change { $0 = nil } }
        try? await gracefulShutdown()  // Throws only if cancelled, which also ends the wait
    }

    func publish(_ envelope: WakuEnvelope) async throws {
        try await publishing.check(envelope)
        replies.append(envelope)
    }

    func publish(_ envelope: WakuEnvelope, reportLoss: @escaping @Sendable () -> Void) async throws {
        try await publish(envelope)
        publishing.losses.append(reportLoss)
    }

    var healthIssues: [String] { [] }
    var canEcho: Bool { publishing.echoes.value }
}

/// A log handler that records the texts of messages.
struct LogRecorder: LogHandler {
    let messages: Recorder<String>
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.info

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) { messages.append(event.message.description) }
}

extension WakuEnvelope {
    /// An envelope with the same ciphertext and a later time, and therefore another message hash.
    var later: WakuEnvelope {
        var later = self
        later.message.timestamp = (message.timestamp ?? 0) + 1_000
        return later
    }
}
