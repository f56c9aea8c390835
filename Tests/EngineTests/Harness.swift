import Engine
import Envelope
import Foundation
import GRDB
import Logging
import PushProtocol
import ServiceLifecycle
import StatusCrypto
import Store
import Synchronization
import TestSupport
import Transport
import Wire

/// An engine over a real database, on a bus that tests publish to and listen on.
final class Harness: Sendable {
    let identity: PrivateKey
    let clock = ManualClock()
    let replies = Inbox()
    private let folder: URL
    private let now = Mutex(Timestamp(nanoseconds: 1_800_000_000_000_000_000))

    init(identity: PrivateKey? = nil) throws {
        var random = SecureRandom()
        self.identity = identity ?? .generate(using: &random)
        folder = FileManager.default.temporaryDirectory.appending(path: "engine-tests-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(at: folder) }

    var server: PublicKey { identity.publicKey }
    var database: String { folder.appending(path: "push.sqlite").path() }

    var wallTime: Timestamp { now.withLock { $0 } }

    func advanceWallClock(by duration: Duration) {
        now.withLock { $0 = $0.advanced(by: duration) }
    }

    /// A part of the world while the server runs.
    struct Running: Sendable {
        let engine: Engine
        let store: PushStore
        fileprivate let network: BusMembership

        /// Publishes on the network; returns when the server recorded it.
        func publish(_ envelope: WakuEnvelope) async throws {
            try await network.publish(envelope)
        }
    }

    /// Runs the server, then shuts it down as SIGTERM would, on the same database each time.
    func withServer(
        policy: RegistrationPolicy = RegistrationPolicy(), isDryRun: Bool = false, publishing: FailingPublisher = FailingPublisher(),
        echoesReplies: Bool = false, drainLimit: Duration = .seconds(10),
        _ body: @escaping @Sendable (Running) async throws -> Void
    ) async throws {
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        let store = try PushStore(path: database, identity: identity.publicKey.compressed, logger: logger)
        let bus = Bus()
        let listener = bus.attach(listener: replies)
        let transport = TestTransport(base: EmbeddedTransport(bus: bus, pubsubTopics: ["/waku/2/rs/16/32"]), publishing: publishing)
        let engine = Engine(
            configuration: .init(
                identity: identity, registrationPolicy: policy, isDryRun: isDryRun, workerCount: 2, echoesReplies: echoesReplies,
                drainLimit: drainLimit),
            store: store, directory: try await TopicDirectory(serverKey: server, store: store), transport: transport, clock: clock,
            wallClock: WallClock { self.now.withLock { $0 } }, logger: logger,
            onAcceptedPushes: {})
        let running = Running(engine: engine, store: store, network: bus.attach(listener: Deaf()))
        let group = ServiceGroup(configuration: .init(services: [.init(service: engine)], logger: logger))
        do {
            try await withThrowingTaskGroup(of: Void.self) { tasks in
                tasks.addTask { try await group.run() }
                await transport.started.wait()
                try await body(running)
                await group.triggerGracefulShutdown()
                try await tasks.waitForAll()
            }
        } catch {
            listener.leave()
            await store.close()
            throw error
        }
        listener.leave()
        await store.close()
    }

    /// Replies to the client so far.
    func replyCount(to client: ProtocolClient) -> Int {
        replies.all.compactMap { client.open($0) }.count
    }

    /// The database while no server runs on it.
    func withStore(_ body: (PushStore) async throws -> Void) async throws {
        let store = try PushStore(
            path: database, identity: identity.publicKey.compressed, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        try await body(store)
        await store.close()
    }

    /// Changes the database behind the server's back: faults are triggers that refuse a write.
    func execute(sql: String) throws {
        let queue = try DatabaseQueue(path: database)
        try queue.writeWithoutTransaction { try $0.execute(sql: sql) }
        try queue.close()
    }
}

/// What the server published, in the order of arrival.
final class Inbox: BusListener {
    private struct State {
        var envelopes: [WakuEnvelope] = []
        var waiting: [(count: Int, continuation: CheckedContinuation<Void, Never>)] = []
    }

    private let state = Mutex(State())

    var all: [WakuEnvelope] { state.withLock { $0.envelopes } }

    func hear(_ envelope: WakuEnvelope) {
        let woken = state.withLock { state in
            state.envelopes.append(envelope)
            let count = state.envelopes.count
            let woken = state.waiting.filter { $0.count <= count }
            state.waiting.removeAll { $0.count <= count }
            return woken
        }
        for waiter in woken { waiter.continuation.resume() }
    }

    /// Returns when that many envelopes have arrived since the beginning, own ones included.
    func wait(for count: Int) async -> [WakuEnvelope] {
        await withCheckedContinuation { continuation in
            let isThere = state.withLock { state in
                guard state.envelopes.count < count else { return true }
                state.waiting.append((count, continuation))
                return false
            }
            if isThere { continuation.resume() }
        }
        return all
    }
}

/// A flag that can be waited for.
final class Signal: Sendable {
    private let inbox = Inbox()

    func set() { inbox.hear(WakuEnvelope(pubsubTopic: "", message: WakuMessage())) }
    func wait() async { _ = await inbox.wait(for: 1) }
}

/// Refuses the next publications.
final class FailingPublisher: Sendable {
    private let remaining = Mutex((count: 0, error: TransportError.queueFull))
    private let refused = Mutex<[WakuEnvelope]>([])

    func fail(_ count: Int, with error: TransportError = .refused(status: 500, text: "on purpose")) {
        remaining.withLock { $0 = (count, error) }
    }

    var refusedEnvelopes: [WakuEnvelope] { refused.withLock { $0 } }

    func check(_ envelope: WakuEnvelope) throws {
        let error = remaining.withLock { remaining -> TransportError? in
            guard remaining.count > 0 else { return nil }
            remaining.count -= 1
            return remaining.error
        }
        guard let error else { return }
        refused.withLock { $0.append(envelope) }
        throw error
    }
}

/// The embedded transport, with a way to fail.
private final class TestTransport: MessageTransport {
    let started = Signal()
    private let base: EmbeddedTransport
    private let publishing: FailingPublisher

    init(base: EmbeddedTransport, publishing: FailingPublisher) {
        self.base = base
        self.publishing = publishing
    }

    func run(receiver: any EnvelopeReceiver) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await self.base.run(receiver: receiver) }
            while !base.troubles.isEmpty { await Task.yield() }
            started.set()
            try await group.waitForAll()
        }
    }

    func publish(_ envelope: WakuEnvelope) async throws {
        try publishing.check(envelope)
        try await base.publish(envelope)
    }

    var troubles: [String] { base.troubles }
}

private struct Deaf: BusListener {
    func hear(_ envelope: WakuEnvelope) {}
}
