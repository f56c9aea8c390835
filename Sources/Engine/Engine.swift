import CoreMetrics
package import Envelope
package import Logging
package import PushProtocol
import ServiceLifecycle
package import StatusCrypto
package import Store
package import Transport
import Wire

/// The server's heart: open → decide → commit → reply (docs/ARCHITECTURE.md, "The way of a message").
///
/// A transport hands it envelopes through `EnvelopeReceiver`; each is recorded before anything acts on it, so that a crash at any point
/// is worked off at the next start.
package final class Engine: Service, EnvelopeReceiver {
    package struct Configuration: Sendable {
        package var identity: PrivateKey
        package var registrationPolicy: RegistrationPolicy
        /// No gorush is configured: accepted pushes are discarded, finally.
        package var isDryRun: Bool
        /// Workers for each of the two stages that compute; as many as cores.
        package var workerCount: Int
        /// Whether each reply is said again after 1.5 s and 4 s, for clients that listen late.
        package var echoesReplies: Bool
        /// How long a shutdown waits for what is under way; what is left stays recorded.
        package var drainLimit: Duration
        /// Derives the key of a query topic, on a thread of its own.
        package var deriveTopicKey: @Sendable (TopicName) -> SymmetricKey

        package init(
            identity: PrivateKey, registrationPolicy: RegistrationPolicy, isDryRun: Bool, workerCount: Int,
            echoesReplies: Bool = true, drainLimit: Duration = .seconds(10),
            deriveTopicKey: @escaping @Sendable (TopicName) -> SymmetricKey = { $0.deriveSymmetricKey() }
        ) {
            self.identity = identity
            self.registrationPolicy = registrationPolicy
            self.isDryRun = isDryRun
            self.workerCount = workerCount
            self.echoesReplies = echoesReplies
            self.drainLimit = drainLimit
            self.deriveTopicKey = deriveTopicKey
        }
    }

    /// The most a payload may be: the network's limit of 1 MiB a message (WAKU_REST.md §2.2).
    package static let maximumPayloadByteCount = 1 << 20
    /// Messages under way between record and last mark; at some kilobytes each a few megabytes, and seconds of work.
    private static let maximumUnderWayCount = 4_096
    /// Rows worked off at once after a restart.
    private static let recoveryBatchCount = 500
    /// Between two looks for what is too old to be kept.
    private static let pruneInterval = Duration.seconds(60)

    private let configuration: Configuration
    private let store: any PushStore
    private let clock: any Clock<Duration>
    private let wallClock: WallClock
    private let logger: Logger
    private let metrics = EngineMetrics()
    private let storeHealth: StoreHealth
    private let admission = Admission(maximumCount: Engine.maximumUnderWayCount)
    private let directory: TopicDirectory
    private let transport: any MessageTransport
    private let opening = WorkQueue<RecordedMessage>()
    private let deciding = WorkQueue<CommitStage.Work>()
    private let replying = WorkQueue<ReplyStage.Item>()
    private let openStage: OpenStage
    private let commitStage: CommitStage
    private let replyStage: ReplyStage
    private let echoStage: EchoStage?

    /// - Parameters:
    ///   - directory: shared with the delivery, which unregisters dead devices.
    ///   - onAcceptedPushes: called after each commit that put pushes into the outbox.
    package init(
        configuration: Configuration, store: any PushStore, directory: TopicDirectory, transport: any MessageTransport,
        clock: any Clock<Duration>, wallClock: WallClock,
        logger: Logger, onAcceptedPushes: @escaping @Sendable () -> Void
    ) {
        self.configuration = configuration
        self.store = store
        self.directory = directory
        self.transport = transport
        self.clock = clock
        self.wallClock = wallClock
        self.logger = logger

        storeHealth = StoreHealth(logger: logger)
        commitStage = CommitStage(
            decider: Decider(
                serverKey: configuration.identity.publicKey.compressed, registrationPolicy: configuration.registrationPolicy,
                isDryRun: configuration.isDryRun),
            directory: directory, store: store, storeHealth: storeHealth, admission: admission, metrics: metrics, clock: clock,
            wallClock: wallClock, logger: logger, onAcceptedPushes: onAcceptedPushes, queue: deciding, output: replying)
        openStage = OpenStage(
            identity: configuration.identity, keys: TopicKeys(store: store, derive: configuration.deriveTopicKey), admission: admission,
            metrics: metrics, clock: clock, logger: logger, queue: opening, output: deciding)
        echoStage =
            configuration.echoesReplies
            ? EchoStage(
                identity: configuration.identity, transport: transport, clock: clock, wallClock: wallClock, metrics: metrics)
            : nil
        replyStage = ReplyStage(
            identity: configuration.identity, transport: transport, admission: admission, metrics: metrics, clock: clock,
            wallClock: wallClock, logger: logger, echo: echoStage, queue: replying, output: deciding)
    }

    /// Works off what a crash left, then receives until the service group shuts down, then drains.
    ///
    /// - Throws: `StoreError` when what was left cannot be read.
    package func run() async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await self.openStage.run(workerCount: self.configuration.workerCount) }
            // On Linux another priority is another set of threads: the one task that everybody waits for does not queue behind batches
            // of cryptography, which keep the others for milliseconds.
            group.addTask(priority: .high) { await self.commitStage.run() }
            group.addTask { await self.replyStage.run(workerCount: self.configuration.workerCount) }
            group.addTask { await self.prune() }
            group.addTask { await self.storeHealth.run(probing: self.store, clock: self.clock) }
            if let echoStage { group.addTask { await echoStage.run() } }
            do {
                try await recover()
                try await transport.run(receiver: self)
            } catch {
                await drain()
                group.cancelAll()
                throw error
            }
            await drain()
            group.cancelAll()
        }
    }

    // MARK: EnvelopeReceiver

    package func wants(contentTopic: String) -> Bool {
        Topic(contentTopic: contentTopic).map { directory.wants($0) } ?? false
    }

    package func receive(_ envelopes: [WakuEnvelope], origin: EnvelopeOrigin) async throws {
        let wanted = envelopes.compactMap { envelope -> (envelope: WakuEnvelope, addressees: TopicDirectory.Addressees)? in
            let message = envelope.message
            guard message.version == RFC26.messageVersion, message.payload.count <= Self.maximumPayloadByteCount else { return nil }
            return directory.addressees(of: message.contentTopic).map { (envelope, $0) }
        }
        metrics.received.increment(by: envelopes.count)
        guard !wanted.isEmpty else { return }
        let now = wallClock.now()
        async let keysAreReady: Void = openStage.prepareKeys(for: wanted.map(\.addressees))
        let ids = try await storeHealth.observing {
            try await store.record(wanted.map { (hash: $0.envelope.hash, envelope: $0.envelope) }, at: now)
        }
        await keysAreReady
        let new = zip(ids, wanted).compactMap { id, wanted in
            id.map {
                RecordedMessage(
                    id: $0, receivedAt: now, envelope: wanted.envelope, addressees: wanted.addressees, origin: origin)
            }
        }
        metrics.recorded.increment(by: new.count)
        metrics.duplicates.increment(by: wanted.count - new.count)
        guard !new.isEmpty else { return }
        await admission.enter(new.count)
        opening.send(new)
    }

    /// Messages under way between record and last mark.
    package var underWayCount: Int { admission.count }

    /// Returns when nothing is under way any more; what waits for a topic's key does not count.
    package func waitUntilIdle() async {
        await admission.waitUntilIdle()
    }

    /// Entries of the topic directory, two for each registration.
    package var queryTopicCount: Int { directory.queryTopicCount }

    /// What keeps the engine from accepting messages; empty when it works.
    package var troubles: [String] { storeHealth.isFailing ? ["the store could not be written"] : [] }

    // MARK: Start and end

    /// The journal first: what was recorded and not decided, and what was decided and not answered.
    private func recover() async throws {
        var lastID: Int64 = 0
        var count = 0
        while true {
            let rows = try await store.unreplied(limit: Self.recoveryBatchCount, after: lastID)
            guard let last = rows.last else { break }
            lastID = last.id
            let replies = rows.compactMap { PendingReply(id: $0.id, stored: $0.reply) }
            await admission.enter(replies.count)
            replying.send(replies.map { ReplyStage.Item($0) })
            count += replies.count
        }
        // Nothing new is recorded before the transport runs, so the end of the journal is the end of what was left.
        lastID = 0
        while true {
            let rows = try await store.undecided(limit: Self.recoveryBatchCount, after: lastID)
            guard let last = rows.last else { break }
            lastID = last.id
            await admission.enter(rows.count)
            opening.send(
                rows.map { row in
                    RecordedMessage(
                        id: row.id, receivedAt: row.receivedAt, envelope: row.envelope,
                        addressees: directory.addressees(of: row.envelope.message.contentTopic) ?? .init())
                })
            count += rows.count
        }
        if count > 0 { logger.notice("working off what the last run left", metadata: ["messages": "\(count)"]) }
    }

    /// Waits for what is under way, within a limit; then lets the stages run out.
    private func drain() async {
        openStage.closeLane()
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await self.admission.waitUntilIdle() }
            group.addTask { try? await self.clock.sleep(for: self.configuration.drainLimit) }
            _ = await group.next()
            group.cancelAll()
        }
        opening.finish()
        replying.finish()
        deciding.finish()
        if admission.count > 0 {
            logger.warning("stopped with work under way; it is recorded", metadata: ["messages": "\(admission.count)"])
        }
    }

    private func prune() async {
        while (try? await clock.sleep(for: Self.pruneInterval)) != nil {
            openStage.expireSegments(at: wallClock.now())
            do {
                while try await store.prune(at: wallClock.now()).isBounded {}
            } catch {
                logger.error("pruning the store failed", metadata: ["error": "\(error)"])
            }
        }
    }
}
