import Concurrency
import CoreMetrics
package import Envelope
package import Logging
package import PushProtocol
import ServiceLifecycle
package import StatusCrypto
package import Store
import Synchronization
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
        /// Messages between record and decision: at some kilobytes each a few megabytes, and seconds of work.
        package var maximumIntakeCount: Int
        /// Their payloads: room for a full intake of ordinary messages, or for 32 of the longest. Opened and decoded they take three times
        /// as much, which a small machine has.
        package var maximumIntakeByteCount: Int
        /// Replies in memory: what finds no room waits in the database.
        package var maximumReplyCount: Int
        /// Their payloads: the same.
        package var maximumReplyByteCount: Int
        /// Bytes of replies and echoes a second: what a go-waku node was measured to take at the most, 8,000 POSTs of a kilobyte.
        package var replyBytesPerSecond: Int
        /// How long a shutdown waits for what is under way; what is left stays recorded.
        package var drainLimit: Duration
        /// How long a shutdown waits before that for the transport to end, to which a node may owe an answer.
        package var transportLimit: Duration
        /// Derives the key of a query topic, on a thread of its own.
        package var deriveTopicKey: @Sendable (TopicName) -> SymmetricKey

        package init(
            identity: PrivateKey, registrationPolicy: RegistrationPolicy, isDryRun: Bool, workerCount: Int,
            echoesReplies: Bool = true, maximumIntakeCount: Int = 4_096, maximumIntakeByteCount: Int = 32 << 20,
            maximumReplyCount: Int = 4_096, maximumReplyByteCount: Int = 32 << 20,
            replyBytesPerSecond: Int = Self.defaultReplyBytesPerSecond,
            drainLimit: Duration = .seconds(10), transportLimit: Duration = .seconds(10),
            deriveTopicKey: @escaping @Sendable (TopicName) -> SymmetricKey = { $0.deriveSymmetricKey() }
        ) {
            self.identity = identity
            self.registrationPolicy = registrationPolicy
            self.isDryRun = isDryRun
            self.workerCount = workerCount
            self.echoesReplies = echoesReplies
            self.maximumIntakeCount = maximumIntakeCount
            self.maximumIntakeByteCount = maximumIntakeByteCount
            self.maximumReplyCount = maximumReplyCount
            self.maximumReplyByteCount = maximumReplyByteCount
            self.replyBytesPerSecond = replyBytesPerSecond
            self.drainLimit = drainLimit
            self.transportLimit = transportLimit
            self.deriveTopicKey = deriveTopicKey
        }

        package static let defaultReplyBytesPerSecond = 8 << 20
    }

    /// The most a payload may be: the network's limit of 1 MiB a message (WAKU_REST.md §2.2).
    package static let maximumPayloadByteCount = 1 << 20
    /// Between two looks for what is too old to be kept.
    private static let pruneInterval = Duration.seconds(60)
    /// Messages that a transaction has at least while a backlog is opened, of which there are as many: alone, one costs the processors
    /// half as much again as in such company. Marks go along: nobody waits for them.
    private static let transactionCount = OpeningQueue.backlogCount
    /// How long an operator is told that messages were refused.
    private static let overloadMemory = Duration.seconds(60)

    private let configuration: Configuration
    private let store: any PushStore
    private let clock: any Clock<Duration>
    private let wallClock: WallClock
    private let logger: Logger
    /// Whether pushes that reach a device are known to: otherwise nobody can say which registrations are unused.
    private let provesDeliveries: @Sendable () -> Bool
    private let metrics = EngineMetrics()
    private let storeHealth: StoreHealth
    private let intake: Intake
    private let time: SteadyTime
    /// When messages were refused last, and why.
    private let lastOverload = Mutex<(time: Duration, reason: Overload)?>(nil)
    /// What a crash left undecided, or what could not be looked up.
    private let backlog = Backlog()
    private let directory: TopicDirectory
    private let topicKeys: TopicKeys
    private let transport: any MessageTransport
    private let opening: OpeningQueue
    private let deciding = BatchQueue<CommitStage.Work> { $0.isUrgent }
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
        logger: Logger, provesDeliveries: @escaping @Sendable () -> Bool = { false }, onAcceptedPushes: @escaping @Sendable () -> Void
    ) {
        self.configuration = configuration
        self.store = store
        self.directory = directory
        self.transport = transport
        self.clock = clock
        self.wallClock = wallClock
        self.logger = logger
        self.provesDeliveries = provesDeliveries

        time = SteadyTime(clock: clock, start: wallClock.now())
        storeHealth = StoreHealth(time: time, logger: logger)
        intake = Intake(limits: .init(count: configuration.maximumIntakeCount, byteCount: configuration.maximumIntakeByteCount))
        opening = OpeningQueue { [deciding] isBacklog in deciding.gather(atLeast: isBacklog ? Self.transactionCount : 0) }
        topicKeys = TopicKeys(store: store, derive: configuration.deriveTopicKey)
        echoStage = configuration.echoesReplies ? EchoStage(clock: clock, metrics: metrics) : nil
        openStage = OpenStage(
            identity: configuration.identity, keys: topicKeys, intake: intake, backlog: backlog, metrics: metrics, logger: logger,
            echo: echoStage, queue: opening, output: deciding)
        replyStage = ReplyStage(
            identity: configuration.identity, transport: transport,
            limits: .init(
                count: configuration.maximumReplyCount, byteCount: configuration.maximumReplyByteCount,
                bytesPerSecond: configuration.replyBytesPerSecond),
            metrics: metrics, time: time, wallClock: wallClock, logger: logger, echo: echoStage, output: deciding)
        commitStage = CommitStage(
            decider: Decider(
                serverKey: configuration.identity.publicKey.compressed, registrationPolicy: configuration.registrationPolicy,
                isDryRun: configuration.isDryRun),
            directory: directory, store: store, storeHealth: storeHealth, intake: intake, metrics: metrics, clock: clock,
            wallClock: wallClock, time: time, logger: logger, onAcceptedPushes: onAcceptedPushes, queue: deciding, replies: replyStage)
    }

    /// Receives until the service group shuts down, and works off what a crash left beside that; then drains.
    ///
    /// - Throws: `StoreError` when what was left cannot be read.
    package func run() async throws {
        try await findUnfinished()
        try await withTaskGroup(of: Void.self) { stages in
            stages.addTask(executorPreference: ComputingThreads.shared) {
                await self.openStage.run(workerCount: self.configuration.workerCount)
            }
            stages.addTask { await self.commitStage.run() }
            stages.addTask { await self.replyStage.run() }
            let ending = await beginWork()
            await drain()
            stages.cancelAll()
            return ending
        }.get()
    }

    /// Runs all that brings new work to the stages, as long as the transport runs.
    private func beginWork() async -> Result<Void, any Error> {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await self.reader(of: self.backlog, room: self.intake.waitForRoom).run() }
            // Their answers need room, too.
            group.addTask {
                await self.reader(of: self.replyStage.backlogs.queries) {
                    guard let room = await self.replyStage.waitForRoom() else { return nil }
                    return await self.intake.waitForRoom().map { min($0, room) }
                }.run()
            }
            group.addTask { await self.replyReader.run() }
            group.addTask { await self.openStage.runLane() }
            group.addTask { await self.prune() }
            group.addTask { await self.storeHealth.run(probing: self.store, clock: self.clock) }
            if let echoStage {
                group.addTask { await echoStage.run(self.replyStage.sendEcho) }
                group.addTask { await self.holdEchoesWhileBusy() }
            }
            defer { group.cancelAll() }
            do {
                return .success(try await runTransport())
            } catch {
                return .failure(error)
            }
        }
    }

    /// To seal an echo takes a processor as long as to answer somebody who has heard nothing yet.
    private func holdEchoesWhileBusy() async {
        while !Task.isCancelled {
            await intake.waitUntil(isBusy: true)
            replyStage.holdEchoes(true)
            await intake.waitUntil(isBusy: false)
            replyStage.holdEchoes(false)
        }
    }

    /// Runs until the transport ends, which may take so long at a shutdown and no longer.
    private func runTransport() async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await self.transport.run(receiver: self) }
            group.addTask {
                try await gracefulShutdown()
                try await self.clock.sleep(for: self.configuration.transportLimit)
                self.logger.warning("the transport does not end: what a node still owes it is left to the next start")
            }
            defer { group.cancelAll() }
            try await group.next()
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
        metrics.received.increment(by: wanted.count)
        guard !wanted.isEmpty else { return }
        let reservation = try admit(wanted.map(\.envelope), origin)
        var new: [RecordedMessage] = []
        defer {
            intake.end(reservation, entering: new)
            opening.send(new)
        }
        let now = wallClock.now()
        // Beside the record, which takes longer. What cannot be read now is read again.
        async let keys: Void = topicKeys.load(wanted.flatMap(\.addressees.subscribers))
        let ids = try await storeHealth.observing {
            try await store.record(wanted.map { (hash: $0.envelope.hash, envelope: $0.envelope) }, at: now)
        }
        _ = try? await keys
        new = zip(ids, wanted).compactMap { id, wanted in
            id.map {
                RecordedMessage(
                    id: $0, receivedAt: now, envelope: wanted.envelope, addressees: wanted.addressees, origin: origin)
            }
        }
        metrics.recorded.increment(by: new.count)
        metrics.duplicates.increment(by: wanted.count - new.count)
    }

    private func admit(_ envelopes: [WakuEnvelope], _ origin: EnvelopeOrigin) throws(Overload) -> Intake.Reservation {
        do {
            return try intake.admit(payloads: envelopes.map { $0.message.payload.count }, origin: origin)
        } catch {
            metrics.count(error, shed: envelopes.count)
            if error != .history { lastOverload.withLock { [time] in $0 = (time.elapsed(), error) } }
            throw error
        }
    }

    /// Returns when messages are let in again, or when the task is cancelled.
    package func waitForRoom() async { _ = await intake.waitForRoom() }

    /// Messages and replies in memory.
    package var underWayCount: Int { intake.count + replyStage.count }
    /// Payloads of messages in memory.
    package var intakeByteCount: Int { intake.byteCount }
    /// Replies that are not out, in memory or not.
    package var waitingReplyCount: Int {
        replyStage.count + replyStage.backlogs.replies.count + replyStage.backlogs.queries.count
    }

    /// Returns when nothing is under way any more and nothing waits to be; what waits for a topic's key does not count.
    package func waitUntilIdle() async {
        let backlogs = [backlog, replyStage.backlogs.queries, replyStage.backlogs.replies]
        repeat {
            for backlog in backlogs { await backlog.waitUntilEmpty() }
            await intake.waitUntilIdle()
            await replyStage.waitUntilIdle()
        } while !Task.isCancelled && (underWayCount > 0 || !backlogs.allSatisfy(\.isEmpty))
    }

    /// Returns when every message that was let in is decided; what waits for a topic's key does not count.
    package func waitUntilDecided() async {
        await backlog.waitUntilEmpty()
        await intake.waitUntilIdle()
    }

    /// Entries of the topic directory, two for each registration.
    package var queryTopicCount: Int { directory.queryTopicCount }

    /// Writes something of no meaning, in its turn: as long as it waits for the writer counts for ``healthIssues``.
    package func probeStore() async throws {
        try await storeHealth.timing { try await store.probe() }
    }

    /// What keeps the engine from accepting messages; empty when it works.
    package var healthIssues: [String] {
        (storeHealth.isFailing ? ["the store could not be written"] : [])
            + (storeHealth.isBehind
                ? ["the store's writer hangs: a write takes more than \(StoreHealth.longestWrite.components.seconds) s"] : [])
    }

    /// What an operator may want to know while it works. To refuse what is too much is to work.
    package var warnings: [String] {
        guard let (time, reason) = lastOverload.withLock(\.self), self.time.elapsed() - time < Self.overloadMemory else { return [] }
        return ["messages were refused in the last minute: \(reason) (\(reason.rawValue))"]
    }

    // MARK: Start and end

    /// Only the numbers of the rows: they are read when there is room for them. Before anything new is recorded, so these are all.
    private func findUnfinished() async throws {
        let unfinished = try await store.unfinishedRows()
        backlog.add(unfinished.undecided)
        replyStage.backlogs.replies.add(unfinished.unreplied)
        let count = unfinished.undecided.count + unfinished.unreplied.count
        if count > 0 { logger.notice("working off what the last run left", metadata: ["messages": "\(count)"]) }
    }

    private func reader(of backlog: Backlog, room: @escaping @Sendable () async -> Int?) -> BacklogReader<RecordedMessage> {
        BacklogReader(
            backlog: backlog, room: room,
            read: { [store, directory, topicKeys] rows in
                let messages = try await store.undecided(rows).map { row in
                    RecordedMessage(
                        id: row.id, receivedAt: row.receivedAt, envelope: row.envelope,
                        addressees: directory.addressees(of: row.envelope.message.contentTopic) ?? .init(), isReadAgain: true)
                }
                try await topicKeys.load(messages.flatMap(\.addressees.subscribers))
                return messages
            },
            send: { [intake, opening] messages in
                intake.enter(messages)
                opening.send(messages)
            }, clock: clock, logger: logger)
    }

    private var replyReader: BacklogReader<PendingReply> {
        BacklogReader(
            backlog: replyStage.backlogs.replies, room: replyStage.waitForRoom,
            read: { [store] rows in
                try await store.unreplied(rows).compactMap { PendingReply(id: $0.id, stored: $0.reply) }
            },
            send: replyStage.send, clock: clock, logger: logger)
    }

    /// Waits for what is under way, within a limit; then lets the stages run out.
    private func drain() async {
        replyStage.drain()
        await withTaskGroup(of: Void.self) { group in
            group.addTask {
                await self.intake.waitUntilIdle()
                await self.replyStage.waitUntilIdle()
            }
            group.addTask { try? await self.clock.sleep(for: self.configuration.drainLimit) }
            await group.next()
            group.cancelAll()
        }
        opening.finish()
        replyStage.finish()
        deciding.finish()
        if underWayCount > 0 {
            logger.warning("stopped with work under way; it is recorded", metadata: ["messages": "\(underWayCount)"])
        }
    }

    private func prune() async {
        var lastRow: Int64 = 0
        while (try? await clock.sleep(for: Self.pruneInterval)) != nil {
            openStage.expireSegments(at: wallClock.now())
            do {
                while try await store.prune(at: wallClock.now()).isBounded {}
                if provesDeliveries() { lastRow = try await unregisterUnused(after: lastRow) }
            } catch {
                logger.error("pruning the store failed", metadata: ["error": "\(error)"])
            }
        }
    }

    /// - Returns: the last row that was looked at.
    private func unregisterUnused(after row: Int64) async throws -> Int64 {
        let now = wallClock.now()
        let oldest = now.advanced(by: .zero - configuration.registrationPolicy.lifetime)
        let unused = try await store.unregisterUnused(since: oldest, after: row, at: now)
        for registration in unused.gone { directory.remove(registration: registration.registration, topics: registration.topics) }
        if !unused.gone.isEmpty {
            metrics.registrationsUnused.increment(by: unused.gone.count)
            logger.notice("unused registrations are gone", metadata: ["registrations": "\(unused.gone.count)"])
        }
        return unused.lastRow
    }
}
