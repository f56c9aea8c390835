import Bytes
import CoreMetrics
package import Envelope
import Store
import Synchronization
import Tasks
package import Transport
import Wire

/// Takes the network's messages: records those that are for the server, and rejects what is more than it can take.
package final class Intake: EnvelopeReceiver {
    /// How large a payload may be: 1 MiB, the network's limit for a message (WAKU_REST.md §2.2).
    package static let maximumPayloadByteCount = 1 << 20
    /// The time for which ``unrecordedReason`` tells of messages that could not be recorded, in case nobody offers them again.
    private static let offerMemory = Duration.seconds(5)
    /// The time for which ``overload`` tells of a rejection.
    private static let overloadMemory = Duration.seconds(60)

    private let directory: TopicDirectory
    private let topicKeys: TopicKeys
    private let context: EngineContext
    private let replyStage: ReplyStage
    private let openStage: OpenStage
    private let admission: Admission
    /// When and why a message was last rejected, or nil if none was.
    private let lastOverload = Mutex<(time: Duration, reason: Overload)?>(nil)
    /// When a new message was last recorded, or nil if none was.
    private let lastRecordedAt = Mutex<Duration?>(nil)
    /// When and why messages could not be recorded, or nil once messages are.
    private let unrecorded = Mutex<(time: Duration, reason: String)?>(nil)
    private let unreadableShare = Mutex(UnreadableShare())

    init(
        directory: TopicDirectory, topicKeys: TopicKeys, context: EngineContext, replyStage: ReplyStage, openStage: OpenStage,
        to admission: Admission
    ) {
        self.directory = directory
        self.topicKeys = topicKeys
        self.context = context
        self.replyStage = replyStage
        self.openStage = openStage
        self.admission = admission
    }

    /// The time since a new message was last recorded, or nil if none was.
    package var lastMessageAge: Duration? {
        lastRecordedAt.withLock(\.self).map { context.time.elapsed() - $0 }
    }

    /// Why messages wait that a transport offers again each second, or nil if none do. The store may take smaller writes.
    var unrecordedReason: String? {
        guard let (time, reason) = unrecorded.withLock(\.self), context.time.elapsed() - time < Self.offerMemory else { return nil }
        return reason
    }

    /// Why messages were rejected in the last minute, or nil if none were.
    var overload: Overload? {
        guard let (time, reason) = lastOverload.withLock(\.self), context.time.elapsed() - time < Self.overloadMemory else { return nil }
        return reason
    }

    /// The messages that cannot be read because of their version, or nil if they are few.
    var unreadableExcess: UnreadableShare.Summary? { unreadableShare.withLock { $0.excess(at: context.time.elapsed()) } }

    /// Returns when half of the capacity is free, or when the task is cancelled.
    package func waitForCapacity() async { await admission.wait(until: { $0.freeCount > 0 }) }

    // MARK: EnvelopeReceiver

    package func isInterested(in contentTopic: String) -> Bool {
        Topic(contentTopic: contentTopic).map { directory.wants($0) } ?? false
    }

    package func discover(_ contentTopics: () -> Set<String>) async -> Bool {
        (try? await lookUp(contentTopics)) != nil
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

    /// Adds the topics that other servers on the same database have added since the start, as far as messages need them.
    private func lookUp(_ contentTopics: () -> Set<String>) async throws {
        guard let cluster = context.store.cluster else { return }
        let unknown = contentTopics().compactMap(Topic.init(contentTopic:)).filter { !directory.wants($0) }
        guard !unknown.isEmpty else { return }
        directory.add(try await cluster.registrations(on: unknown.map(\.rawValue)))
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
}
