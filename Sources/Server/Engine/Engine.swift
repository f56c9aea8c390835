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
/// A transport passes envelopes in through `EnvelopeReceiver`. The engine records each envelope before anything acts on it. After a crash
/// the next start resumes every message whose decision or reply is missing.
package final class Engine: Service, EnvelopeReceiver {
    /// How large a payload may be: 1 MiB, the network's limit for a message (WAKU_REST.md §2.2).
    package static let maximumPayloadByteCount = 1 << 20
    /// The interval between deletions of old rows.
    private static let pruneInterval = Duration.seconds(60)
    /// The time for which ``healthIssues`` report messages that could not be recorded, in case nobody offers them again.
    private static let offerMemory = Duration.seconds(5)
    /// The time for which ``warnings`` report a rejection.
    private static let overloadMemory = Duration.seconds(60)

    private let configuration: Configuration
    private let context: EngineContext
    private let directory: TopicDirectory
    private let transport: any MessageTransport
    /// Whether the delivery learns which pushes Apple and Google accept. Without that, the engine cannot tell whether a registration is
    /// unused.
    private let confirmsDelivery: @Sendable () -> Bool
    /// When and why a message was last rejected, or nil if none was.
    private let lastOverload = Mutex<(time: Duration, reason: Overload)?>(nil)
    /// When the engine last recorded a new message, or nil if it hasn't yet.
    private let lastRecordedAt = Mutex<Duration?>(nil)
    /// When and why messages could not be recorded, or nil once messages are.
    private let unrecorded = Mutex<(time: Duration, reason: String)?>(nil)
    private let unreadableShare = Mutex(UnreadableShare())
    private let topicKeys: TopicKeys
    private let admission: Admission
    private let openStage: OpenStage
    private let commitStage: CommitStage
    private let replyStage: ReplyStage
    private let markWriter: MarkWriter
    private let onAcceptedPushes: @Sendable () -> Void

    /// - Parameters:
    ///   - directory: The server's topics. The delivery has the same directory, because it unregisters dead devices.
    ///   - confirmsDelivery: Whether the delivery learns which pushes Apple and Google accept. Without that, the engine doesn't remove
    ///     unused registrations.
    ///   - onAcceptedPushes: Called after each commit that added pushes to the outbox.
    package init(
        configuration: Configuration, store: any PushStore, directory: TopicDirectory, transport: any MessageTransport,
        clock: any Clock<Duration>, wallClock: WallClock,
        logger: Logger, confirmsDelivery: @escaping @Sendable () -> Bool = { false }, onAcceptedPushes: @escaping @Sendable () -> Void
    ) {
        self.configuration = configuration
        self.directory = directory
        self.transport = transport
        self.confirmsDelivery = confirmsDelivery
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
            group.addTask { await self.messageReader(.undecided) { await self.admission.nextRows(.undecided, maximumCount: $0) }.run() }
            group.addTask { await self.messageReader(.unanswered, next: self.nextUnanswered).run() }
            group.addTask { await self.replyReader.run() }
            group.addTask { await self.topicKeys.derive(for: self.admission, logger: self.context.logger) }
            group.addTask { await self.prune() }
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
            await admission.wait { !$0.isCongested }
            replyStage.pauseEchoes(false)
        }
    }

    /// Returns when the transport stops. At a shutdown, the engine cancels it after ``Configuration/transportLimit``.
    private func runTransport() async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await self.transport.run(receiver: self) }
            group.addTask {
                try await gracefulShutdown()
                try await self.context.clock.sleep(for: self.configuration.transportLimit)
                self.context.logger.warning("transport did not stop in time; cancelling it")
            }
            defer { group.cancelAll() }
            try await group.next()
        }
    }

    // MARK: EnvelopeReceiver

    package func isInterested(in contentTopic: String) -> Bool {
        Topic(contentTopic: contentTopic).map { directory.wants($0) } ?? false
    }

    package func discover(_ contentTopics: () -> Set<String>) async -> Bool {
        (try? await lookUp(contentTopics)) != nil
    }

    /// Adds the topics that other servers on the same database have added since the start, as far as messages need them.
    private func lookUp(_ contentTopics: () -> Set<String>) async throws {
        guard let cluster = context.store.cluster else { return }
        let unknown = contentTopics().compactMap(Topic.init(contentTopic:)).filter { !directory.wants($0) }
        guard !unknown.isEmpty else { return }
        directory.add(try await cluster.registrations(on: unknown.map(\.rawValue)))
    }

    package func countUnreadable(_ envelopes: [WakuEnvelope]) {
        let unreadable = envelopes.filter { !$0.isReadable && isInterested(in: $0.message.contentTopic) }
        guard let last = unreadable.last else { return }
        let newCount = unreadableShare.withLock {
            $0.countUnreadable(unreadable.map(\.hash), lastVersion: last.message.version, at: context.time.elapsed())
        }
        context.metrics.count(.unsupportedVersion, newCount)
    }

    package func networkReturned() { replyStage.networkReturned() }

    package func receive(_ envelopes: [WakuEnvelope], origin: EnvelopeOrigin) async throws {
        try await context.storeHealth.observingFailure { try await lookUp { Set(envelopes.lazy.map(\.message.contentTopic)) } }
        countUnreadable(envelopes)
        let wanted = envelopes.compactMap { envelope -> (envelope: WakuEnvelope, addressees: TopicDirectory.TopicCandidates)? in
            let message = envelope.message
            guard envelope.isReadable, message.payload.count <= Self.maximumPayloadByteCount else { return nil }
            return directory.addressees(of: message.contentTopic).map { (envelope, $0) }
        }
        guard !wanted.isEmpty else { return }
        let permit = try admit(wanted.map(\.envelope), origin)
        let now = context.wallClock.read().stamp
        // The keys are read in parallel, because committing the rows takes longer. If that read fails, the open stage returns the messages
        // to the journal, and their re-read loads the keys.
        async let keys: Void = topicKeys.load(wanted.flatMap(\.addressees.subscribers))
        let ids: [Int64?]
        do {
            ids = try await context.storeHealth.observing {
                try await context.store.record(wanted.map { (hash: $0.envelope.hash, envelope: $0.envelope) }, at: now)
            }
        } catch {
            context.metrics.count(.failed, wanted.count)
            unrecorded.withLock { [now = context.time.elapsed()] in $0 = (now, "\(error)") }
            openStage.receptionFailed()
            throw error
        }
        unrecorded.withLock { $0 = nil }
        _ = try? await keys
        let new = zip(ids, wanted).compactMap { id, wanted in
            id.map {
                RecordedMessage(
                    id: $0, receivedAt: now, envelope: wanted.envelope, addressees: wanted.addressees, origin: origin)
            }
        }
        context.metrics.count(.recorded, new.count)
        if !new.isEmpty {
            lastRecordedAt.withLock { [now = context.time.elapsed()] in $0 = now }
            unreadableShare.withLock { $0.countReadable(new.count, at: context.time.elapsed()) }
        }
        context.metrics.count(.duplicate, wanted.count - new.count)
        admission.enter(new, spending: permit)
    }

    private func admit(_ envelopes: [WakuEnvelope], _ origin: EnvelopeOrigin) throws(Overload) -> Permit {
        do {
            return try admission.admit(payloads: envelopes.map { $0.message.payload.count }, origin: origin)
        } catch {
            context.metrics.count(EnvelopeResult(error), envelopes.count)
            openStage.receptionFailed()
            if error != .history { lastOverload.withLock { [now = context.time.elapsed()] in $0 = (now, error) } }
            throw error
        }
    }

    /// Returns when half the intake is free, or when the task is cancelled.
    package func waitForCapacity() async { await admission.wait { $0.freeCount > 0 } }

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

    /// The time since the engine last recorded a new message, or nil if it hasn't yet.
    package var lastMessageAge: Duration? {
        lastRecordedAt.withLock(\.self).map { context.time.elapsed() - $0 }
    }

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

    /// The reasons why the engine cannot accept messages, or empty while it works.
    package var healthIssues: [String] {
        let unrecorded = unrecordedReason.map { "messages cannot be recorded: \($0)" }
        return (context.storeHealth.awayReason.map { ["the store could not be written, so messages and pushes wait: \($0)"] } ?? [])
            + (context.storeHealth.isBehind
                ? ["the store's writer hangs: a write takes more than \(StoreHealth.longestWrite.components.seconds) s"] : [])
            + [unrecorded].compactMap(\.self)
    }

    /// Why messages wait that a transport offers again each second, or nil if none do. The store may take smaller writes.
    private var unrecordedReason: String? {
        guard let (time, reason) = unrecorded.withLock(\.self), context.time.elapsed() - time < Self.offerMemory else { return nil }
        return reason
    }

    /// Conditions that an operator should know about. They leave the engine healthy: load shedding is no failure.
    package var warnings: [String] {
        guard let (time, reason) = lastOverload.withLock(\.self), context.time.elapsed() - time < Self.overloadMemory else { return [] }
        return ["messages were rejected in the last minute: \(reason) (\(reason.rawValue))"]
    }

    /// The warning about messages that wait for rows which another database session holds, or nil if there are none.
    package var lockWarning: String? {
        let count = commitStage.blockedCount
        return count > 0 ? "messages wait for rows of the database that another session holds: \(count)" : nil
    }

    /// The warning that the server cannot read most messages because of their version, or nil if it can.
    package var versionWarning: String? {
        guard let excess = unreadableShare.withLock({ $0.excess(at: context.time.elapsed()) }), excess.areMostUnreadable else { return nil }
        return """
            most messages have a version that this server cannot read: in the last hour \(excess.unreadableCount) of unknown senders, the \
            last one of version \(excess.lastVersion), next to \(excess.readableCount) readable ones
            """
    }

    /// The warning that most messages of registered senders arrive late, or nil if they don't.
    package var lateWarning: String? {
        openStage.areArrivalsLate
            ? """
            most registered senders' messages arrive 15 s or more after they were sent: a filter subscriber of the node hangs (start it \
            with --filter=false), or a clock is wrong
            """ : nil
    }

    /// What the log was told last.
    private struct Told {
        var versions = false
        var late = false
    }

    /// Logs when messages of unsupported versions, which anybody can send, start and end to be many, and when ``lateWarning`` does.
    private func logArrivals(_ told: inout Told) {
        let excess = unreadableShare.withLock { $0.excess(at: context.time.elapsed()) }
        if told.versions != (excess != nil) {
            told.versions.toggle()
            if let excess {
                context.logger.info(
                    "ignoring messages of unsupported versions",
                    metadata: [
                        "unsupported": "\(excess.unreadableCount)", "supported": "\(excess.readableCount)",
                        "lastVersion": "\(excess.lastVersion)",
                    ])
            } else {
                context.logger.info("no longer ignoring messages of unsupported versions")
            }
        }
        let lateWarning = lateWarning
        if told.late != (lateWarning != nil) {
            told.late.toggle()
            context.logger.warning("\(lateWarning ?? "registered senders' messages arrive in time again")")
        }
    }

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

    /// Waits for queries to be decided again, and for capacity for both the messages and their replies.
    private func nextUnanswered(_ maximumCount: Int) async -> [Int64]? {
        guard await admission.nextRows(.unanswered, maximumCount: 1) != nil else { return nil }
        await replyStage.wait { $0.freeRowCapacity > 0 }
        return await admission.nextRows(.unanswered, maximumCount: min(maximumCount, max(1, replyStage.read(\.freeRowCapacity))))
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
                admission.enter(messages, of: rows, reason)
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
        admission.finish()
        replyStage.finish()
        commitStage.finish()
        markWriter.finish()
        if inFlightCount > 0 {
            context.logger.warning("stopped with work in progress; it is recorded", metadata: ["messages": "\(inFlightCount)"])
        }
    }

    private func prune() async {
        var lastRow: Int64 = 0
        var told = Told()
        while (try? await context.clock.sleep(for: Self.pruneInterval)) != nil {
            logArrivals(&told)
            let reading = context.wallClock.read()
            guard !reading.isHeld else { continue }
            openStage.expireSegments(at: reading.now)
            do {
                while try await context.store.prune(at: reading.now).isBounded {}
                if confirmsDelivery() { lastRow = try await unregisterUnused(after: lastRow, at: reading.now) }
            } catch {
                context.storeHealth.count()
                context.logger.error("pruning the store failed", metadata: ["error": "\(error)"])
            }
        }
    }

    /// Unregisters installations that have neither registered nor received a push within the policy's lifetime, a limited number in each
    /// call.
    ///
    /// - Parameter row: The row after which the store continues its search, or 0 to start with the first.
    /// - Returns: The row after which the next call continues.
    private func unregisterUnused(after row: Int64, at now: Timestamp) async throws -> Int64 {
        let unused = try await context.store.unregisterUnused(
            for: configuration.registrationPolicy.lifetime, after: row, at: now)
        for registration in unused.gone { directory.remove(registration: registration.registration, topics: registration.topics) }
        if !unused.gone.isEmpty {
            context.metrics.registrationsUnused.increment(by: unused.gone.count)
            context.logger.notice("unused registrations removed", metadata: ["registrations": "\(unused.gone.count)"])
        }
        return unused.lastRow
    }
}
