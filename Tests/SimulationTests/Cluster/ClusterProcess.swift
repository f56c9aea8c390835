import Bytes
import Envelope
import PushProtocol
import StatusCrypto
import Store
import Synchronization
import TestSupport

@testable import Engine
@testable import PostgreSQLStore

/// The memory of a server process in a cluster, from its start to its exit.
struct ClusterProcess {
    let name: String
    let store: PostgreSQLStore
    let clock = ManualClock()
    /// The speed of the process's clock, in percent of the true one.
    let speed: Int
    let startedAt: Timestamp

    /// A recorded message that is not opened yet.
    struct Unopened {
        var message: RecordedEnvelope
        var isReadAgain = false
    }

    struct Undecided {
        var message: OpenedEnvelope
        /// The number of the message; nil if it is dropped.
        var number: Int?
    }

    /// The result of an attempt.
    struct Outcome {
        var push: QueuedPush
        var change: OutboxUpdate.PushChange
        var time: Timestamp

        var update: OutboxUpdate.Push {
            .init(id: push.id, change, attempt: OutboxUpdate.Attempt(count: push.attempts + 1, at: time))
        }

        /// The device token, if the attempt proved that it is dead.
        var deadToken: DeadToken? {
            guard case .finish(.deadToken) = change else { return nil }
            return DeadToken(
                token: push.push.deviceToken, type: push.push.tokenType, apnTopic: push.push.apnTopic, tried: push.registration,
                attemptedAt: time, reason: .apnsUnregistered, route: "")
        }
    }

    /// The envelopes of the last GET that are not recorded yet.
    var batch: [WakuEnvelope] = []
    /// Rows of undecided messages that the process has taken over and not read.
    var unread: [Int64] = []
    /// Rows of replies that the process has taken over and not read.
    var unreadReplies: [Int64] = []
    var unopened: [Unopened] = []
    /// The segments of incomplete messages, and their rows.
    var segments = SegmentAssembler()
    var incomplete: Set<Int64> = []
    /// Whether the members have changed since the process last reviewed its segments.
    var hasSegmentsToReview = false
    var undecided: [Undecided] = []
    var replies: [PendingReply] = []
    /// Published replies without publication mark.
    var unmarked: [PendingReply] = []
    var allowances = Allowances()
    /// Pushes that the process has read, and its number before.
    var due: [QueuedPush] = []
    var dueNumber: Int64 = 0
    /// Pushes that the process is about to post, and its number before it read them.
    var chosen: [(push: QueuedPush, member: Int64)] = []
    /// Changes of attempted pushes that are not recorded.
    var outcomes: [Outcome] = []
    /// The time of the process's clock when it last took part.
    var lastPart = Duration.zero

    /// Joins the cluster.
    init(name: String, in database: ClusterDatabase, speed: Int, at now: Timestamp) throws {
        self.name = name
        self.speed = speed
        startedAt = now
        store = try PostgreSQLStore(
            database.parameters(of: name), identity: Party.server.key.compressed, sealingKeys: testSealingKeys, serverName: name,
            random: SplitMix64(seed: 1), clock: clock, logger: quietLogger)
    }

    /// The time since the start by the process's clock.
    var elapsed: Duration { clock.now.offset }
    /// The monotonic time, in which delays are measured.
    var steadyNow: Timestamp { startedAt.advanced(by: elapsed) }

    var isIdle: Bool {
        batch.isEmpty && unread.isEmpty && unreadReplies.isEmpty && unopened.isEmpty && incomplete.isEmpty && undecided.isEmpty
            && replies.isEmpty && unmarked.isEmpty && due.isEmpty && chosen.isEmpty && outcomes.isEmpty
    }

    /// Whether the process has a message in memory, so that the message gets its decision, or its reply is published.
    func knows(message: Int64, isDecided: Bool) -> Bool {
        // A call that failed half-way leaves the rows that it has taken to the next call.
        let taken = store.taken.withLock { isDecided ? $0.unreplied : $0.undecided }
        let isUnread = (isDecided ? unreadReplies : unread).contains(message) || taken.contains(message)
        let isUnpublished = (replies + unmarked).contains { $0.id == message || $0.segments.contains(message) }
        let isUndecided =
            unopened.contains { $0.message.id == message } || incomplete.contains(message)
            || undecided.contains { $0.message.id == message || $0.message.segments.contains(message) }
        return isUnread || isUnpublished || !isDecided && isUndecided
    }

    /// Whether the process has an attempt of a push in memory.
    func attempts(push: Int64) -> Bool { chosen.contains { $0.push.id == push } || outcomes.contains { $0.push.id == push } }
}
