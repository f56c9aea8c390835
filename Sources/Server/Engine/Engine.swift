import Bytes
import CoreMetrics
package import Envelope
package import Logging
import PushProtocol
import ServiceLifecycle
import StatusCrypto
package import Store
import Synchronization
import Tasks
package import Transport
import Wire
import Workers

/// The server's pipeline: record → open → decide → commit → reply (docs/ARCHITECTURE.md, "Message path").
///
/// The ``Intake`` records each envelope before anything acts on it. After a crash the next start resumes every message whose decision or
/// reply is missing.
package final class Engine: Service {
    /// What the transport passes envelopes to.
    package let intake: Intake

    private let configuration: Configuration
    let context: EngineContext
    private let directory: TopicDirectory
    private let transport: any MessageTransport
    private let housekeeping: Housekeeping
    private let topicKeys: TopicKeys
    private let admission: Admission
    let openStage: OpenStage
    let commitStage: CommitStage
    private let replyStage: ReplyStage
    private let markWriter: MarkWriter
    private let onAcceptedPushes: @Sendable () -> Void

    /// - Parameters:
    ///   - directory: The server's topics. The delivery has the same directory, because it unregisters dead devices.
    ///   - confirmsDelivery: Whether the delivery learns which pushes Apple and Google accept. Without that, the engine doesn't remove
    ///     unused registrations.
    ///   - onAcceptedPushes: Called after each commit that added pushes to the outbox.
    package init(
        configuration: Configuration, store: any EngineStore, directory: TopicDirectory, transport: any MessageTransport,
        clock: any Clock<Duration>, wallClock: WallClock,
        logger: Logger, confirmsDelivery: @escaping @Sendable () -> Bool = { false }, onAcceptedPushes: @escaping @Sendable () -> Void
    ) {
        self.configuration = configuration
        self.directory = directory
        self.transport = transport
        self.onAcceptedPushes = onAcceptedPushes
        let identity = configuration.identity
        let decider = Decider(
            serverKey: identity.publicKey.compressed, registrationPolicy: configuration.registrationPolicy,
            isDryRun: configuration.isDryRun, canaryKeyHash: configuration.canaryKeyHash)

        // The last stage is created first, because each stage only knows the next stage.
        let admission = Admission(limits: configuration.admissionLimits)
        self.admission = admission
        context = EngineContext(store: store, clock: clock, wallClock: wallClock, logger: logger, admission: admission)
        topicKeys = TopicKeys(store: store, derive: configuration.deriveTopicKey)
        markWriter = MarkWriter(context: context)
        replyStage = ReplyStage(
            queue: ReplyQueue(limits: configuration.replyLimits, echoesReplies: configuration.echoesReplies),
            sealer: ReplySealer(identity: identity), transport: transport, context: context, to: markWriter)
        commitStage = CommitStage(
            decider: decider, directory: directory, context: context, onAcceptedPushes: onAcceptedPushes, to: replyStage)
        openStage = OpenStage(
            opener: Opener(identity: identity), keys: topicKeys, directory: directory, context: context, from: admission, to: commitStage)
        intake = Intake(
            directory: directory, topicKeys: topicKeys, context: context, replyStage: replyStage, openStage: openStage, to: admission)
        housekeeping = Housekeeping(
            policy: configuration.registrationPolicy, directory: directory, context: context, intake: intake, openStage: openStage,
            confirmsDelivery: confirmsDelivery)
    }

    /// Resumes the last run's unfinished messages, receives messages until the transport stops, and then drains.
    ///
    /// - Throws: `StoreError` if the unfinished rows cannot be read. The transport's error if that fails.
    package func run() async throws {
        try await findUnfinished()
        try await withTaskGroup(of: Void.self) { stages in
            stages.addTask(executorPreference: WorkerPool.computing) {
                await self.openStage.run(workerCount: self.configuration.workerCount)
            }
            stages.addTask { await self.commitStage.run() }
            stages.addTask { await self.replyStage.run() }
            stages.addTask { await self.markWriter.run() }
            let ending = await beginWork()
            await drain()
            stages.cancelAll()
            return ending
        }.get()
    }

    /// Runs the tasks that bring work to the stages until the transport stops.
    ///
    /// - Returns: How the transport ended.
    private func beginWork() async -> Result<Void, any Error> {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await self.messageReader(.undecided, next: self.nextUndecided).run() }
            group.addTask { await self.messageReader(.unanswered, next: self.nextUnanswered).run() }
            group.addTask { await self.replyReader.run() }
            group.addTask { await self.topicKeys.derive(for: self.admission, logger: self.context.logger) }
            group.addTask { await self.housekeeping.run() }
            group.addTask { await self.context.storeHealth.run(probing: self.context.store, clock: self.context.clock) }
            if configuration.echoesReplies { group.addTask { await self.pauseEchoesWhileCongested() } }
            defer { group.cancelAll() }
            do {
                return .success(try await runTransport())
            } catch {
                return .failure(error)
            }
        }
    }

    private func pauseEchoesWhileCongested() async {
        while !Task.isCancelled {
            await admission.wait(until: \.isCongested)
            replyStage.pauseEchoes(true)
            await admission.wait(until: { !$0.isCongested })
            replyStage.pauseEchoes(false)
        }
    }

    /// Returns when the transport stops. At a shutdown, the engine cancels it after ``Configuration/transportLimit``.
    private func runTransport() async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await self.transport.run(receiver: self.intake) }
            group.addTask {
                try await gracefulShutdown()
                try await self.context.clock.sleep(for: self.configuration.transportLimit)
                self.context.logger.warning("transport did not stop in time; cancelling it")
            }
            defer { group.cancelAll() }
            try await group.next()
        }
    }

    // MARK: Work in progress

    /// The number of messages and replies in memory, plus published replies that are not marked yet.
    package var inFlightCount: Int { admission.read(\.size.count) + replyStage.read(\.count) + markWriter.count }
    /// The estimated bytes of messages in memory.
    package var intakeByteCount: Int { admission.read(\.size.byteCount) }
    /// The number of replies that are not marked as published, in memory or not.
    package var waitingReplyCount: Int {
        replyStage.read { $0.count + $0.storedCount } + markWriter.count + admission.read { $0.count(.unanswered) }
    }

    /// Returns when all work is done, in memory and in the journal, or when the task is cancelled. Messages that wait for a topic key do
    /// not count.
    package func waitUntilIdle() async {
        repeat {
            await admission.wait(until: \.isEmpty)
            await replyStage.wait(until: \.isEmpty)
            await markWriter.waitUntilIdle()
        } while !Task.isCancelled && !(admission.read(\.isEmpty) && waitingReplyCount == 0)
    }

    /// Returns when every admitted message is decided, or when the task is cancelled. Messages that wait for a topic key do not count.
    package func waitUntilDecided() async { await admission.wait(until: \.isDecided) }

    /// The number of entries in the topic directory, two for each registration.
    package var queryTopicCount: Int { directory.queryTopicCount }

    /// Writes a value without meaning, so that ``healthIssues`` reports a writer that hangs while no message arrives.
    ///
    /// - Throws: `StoreError` if the write fails.
    package func probeStore() async throws {
        try await context.storeHealth.timing { _ in try await context.store.probe() }
    }

    /// Counts a store error that another part of the server has met.
    package func countStoreFailure() { context.storeHealth.count() }

    // MARK: Start and end

    /// Finds the rows that the last run left, before the engine records new messages. Journal readers load them as capacity becomes free.
    private func findUnfinished() async throws {
        let unfinished = try await context.store.unfinishedRows()
        context.giveBack(unfinished.undecided)
        replyStage.store(unfinished.unreplied)
        let count = unfinished.undecided.count + unfinished.unreplied.count
        if count > 0 { context.logger.notice("resuming unfinished messages of the previous run", metadata: ["messages": "\(count)"]) }
    }

    /// Continues the work that this server has taken over from other servers on the same database.
    package func resume(_ work: TakenWork) {
        context.giveBack(work.undecided)
        replyStage.store(work.unreplied)
        if work.haveMembersChanged { openStage.reviewSegments() }
        if work.pushCount > 0 { onAcceptedPushes() }
        let messageCount = work.undecided.count + work.unreplied.count
        // While the members stay the same, these are this server's own messages that another server has recorded first.
        guard work.haveMembersChanged && messageCount > 0 || work.pushCount > 0 else { return }
        context.logger.notice(
            "continuing the work of another server", metadata: ["messages": "\(messageCount)", "pushes": "\(work.pushCount)"])
    }

    private func nextUndecided(_ maximumCount: Int) async -> [Int64]? {
        await admission.wait { $0.nextRows(.undecided, maximumCount: maximumCount) }
    }

    /// Waits for queries to be decided again, and for capacity for both the messages and their replies.
    private func nextUnanswered(_ maximumCount: Int) async -> [Int64]? {
        guard await admission.wait(for: { $0.nextRows(.unanswered, maximumCount: 1) }) != nil else { return nil }
        await replyStage.wait { $0.freeRowCapacity > 0 }
        let maximumCount = min(maximumCount, max(1, replyStage.read(\.freeRowCapacity)))
        return await admission.wait { $0.nextRows(.unanswered, maximumCount: maximumCount) }
    }

    private func messageReader(
        _ reason: AdmissionTable.Reason, next: @escaping @Sendable (Int) async -> [Int64]?
    ) -> JournalReader<RecordedMessage> {
        JournalReader(
            next: next,
            read: { [context, directory, topicKeys] rows in
                let messages = try await context.store.undecided(rows).map { row in
                    RecordedMessage(
                        id: row.id, receivedAt: row.receivedAt, envelope: row.envelope,
                        addressees: directory.addressees(of: row.envelope.message.contentTopic) ?? .init(), isReadAgain: true)
                }
                try await topicKeys.load(messages.flatMap(\.addressees.subscribers))
                return messages
            },
            enter: { [admission, replyStage, onAcceptedPushes] messages, rows in
                // The remaining rows are decided, perhaps by a commit that seemed to fail. Their stored replies are published.
                let decided = Set(rows).subtracting(messages.map(\.id))
                if !decided.isEmpty {
                    replyStage.store(Array(decided))
                    onAcceptedPushes()
                }
                admission.update { $0.enter(messages, of: rows, reason) }
            },
            context: context)
    }

    private var replyReader: JournalReader<PendingReply> {
        JournalReader(
            next: { [replyStage] in await replyStage.nextRows(maximumCount: $0) },
            read: { [context] rows in
                try await context.store.unreplied(rows).compactMap { PendingReply(id: $0.id, receivedAt: $0.receivedAt, stored: $0.reply) }
            },
            enter: { [replyStage] replies, rows in replyStage.send(replies, of: rows) },
            context: context)
    }

    /// Waits for the work in progress, at most ``Configuration/drainLimit``, and then stops the stages.
    private func drain() async {
        replyStage.drain()
        // If the database is unreachable, other servers take over what this server leaves.
        try? await context.store.cluster?.stopReceiving()
        _ = await withTimeout(configuration.drainLimit, clock: context.clock) {
            await self.admission.wait(until: \.isIdle)
            await self.replyStage.wait(until: \.isIdle)
            await self.markWriter.waitUntilIdle()
        }
        admission.update { $0.finish() }
        replyStage.finish()
        commitStage.finish()
        markWriter.finish()
        if inFlightCount > 0 {
            context.logger.warning("stopped with work in progress; it is recorded", metadata: ["messages": "\(inFlightCount)"])
        }
    }
}
