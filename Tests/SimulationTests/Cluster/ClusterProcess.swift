import Envelope
import Logging
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

    /// The envelopes of the last GET that are not recorded yet.
    var batch: [WakuEnvelope] = []
    /// Rows of undecided messages that it has taken over and not read.
    var unread: [Int64] = []
    /// Rows of replies that it has taken over and not read.
    var unreadReplies: [Int64] = []
    var undecided: [Server.Undecided] = []
    var replies: [PendingReply] = []
    /// Published replies without publication mark.
    var unmarked: [PendingReply] = []
    var allowances = Allowances()
    /// Pushes that it has read and not leased.
    var due: [QueuedPush] = []
    /// Pushes that it has leased and not posted, and its number before the lease.
    var leased: [(push: QueuedPush, member: Int64)] = []
    /// Changes of attempted pushes that are not recorded.
    var outcomes: [OutboxUpdate.Push] = []
    /// The time of its own clock when it last took part.
    var lastPart = Duration.zero

    /// Joins the cluster.
    init(name: String, in database: ClusterDatabase, speed: Int, at now: Timestamp) throws {
        self.name = name
        self.speed = speed
        startedAt = now
        store = try PostgreSQLStore(
            database.parameters(of: name), identity: Person.server.key.compressed, serverName: name, random: SplitMix64(seed: 1),
            clock: clock, logger: Logger(label: "simulation") { _ in SwiftLogNoOpLogHandler() })
    }

    /// The time since the start by its own clock.
    var elapsed: Duration { clock.now.offset }
    /// The monotonic time, by which delays are kept.
    var steadyNow: Timestamp { startedAt.advanced(by: elapsed) }

    var isIdle: Bool {
        batch.isEmpty && unread.isEmpty && unreadReplies.isEmpty && undecided.isEmpty && replies.isEmpty && unmarked.isEmpty && due.isEmpty
            && leased.isEmpty && outcomes.isEmpty
    }

    /// Whether it has a message in memory, so that the message gets its decision, or its reply is published.
    func knows(message: Int64, isDecided: Bool) -> Bool {
        // A call that failed half-way leaves what it has taken to the next one.
        let taken = store.taken.withLock { isDecided ? $0.unreplied : $0.undecided }
        let isUnread = (isDecided ? unreadReplies : unread).contains(message) || taken.contains(message)
        let isUnpublished = (replies + unmarked).contains { $0.id == message }
        return isUnread || isUnpublished || !isDecided && undecided.contains { $0.row == message }
    }

    /// Whether it has an attempt of a push in memory.
    func attempts(push: Int64) -> Bool { leased.contains { $0.push.id == push } || outcomes.contains { $0.id == push } }
}
