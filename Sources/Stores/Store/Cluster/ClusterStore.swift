package import Bytes
package import Envelope
import StatusCrypto

/// A database that several servers with the same identity share.
///
/// Each server is a member with a number and a lease, and owns messages and pushes: it alone decides, answers and delivers them. A member
/// renews its lease by the database's clock. Once the lease has ended, the other members fence it and take over what it owns. A fenced
/// member that wakes up can't change these rows, because each write names the owner. It joins again under a new number.
package protocol ClusterStore: Sendable {
    /// Renews this server's lease, or joins again if it was fenced. Also fences members whose leases have ended, and takes over their work
    /// and any message that its owner has not taken in time.
    ///
    /// Call it every ``ClusterLimits/interval``.
    ///
    /// - Parameter isReceiving: Whether this server's node works. Without it, the server can neither receive messages nor publish replies.
    ///   It hands its messages over, if another member can take them.
    /// - Throws: `StoreError` if the database is unreachable.
    func takePart(isReceiving: Bool) async throws -> TakenWork

    /// This server's number among the members. It changes when the server joins again after it was fenced.
    var number: Int64 { get }

    /// Whether this server's lease under a number lasts for another duration, by its own clock. Without it, the pushes that this server
    /// leased under the number may belong to another server.
    func holdsLease(as number: Int64, for duration: Duration) -> Bool

    /// What the database's clock shows, as far as it was read within ``ClusterLimits/renewalDelay``, or nil.
    var databaseTime: Timestamp? { get }

    /// The number of living members, this server included.
    var memberCount: Int { get }

    /// Returns the live registrations with query topics among these, which may have been added by another member.
    func registrations(on topics: [UInt32]) async throws -> [ChangedRegistration]

    /// Whether this server assembles the message with that hash from its segments.
    func assembles(_ hash: Digest32) -> Bool

    /// Passes segments to the member that assembles their message, if it is not this server.
    ///
    /// - Parameters:
    ///   - rows: The segments' messages.
    ///   - hash: The whole message's hash, which the segments name.
    func pass(_ rows: [Int64], ofMessage hash: Digest32) async throws

    /// Whether the reply to a message is no longer to be published: another member has superseded it, or has taken it over and published
    /// it.
    func isReplyFinished(_ message: Int64) async throws -> Bool

    /// Asks all members not to record further messages for this server, because it is about to stop.
    func stopReceiving() async throws

    /// Returns whether PostgreSQL logs the values of statements, which identify clients.
    func logsValues() async throws -> Bool

    /// Returns all members with their work.
    func members() async throws -> [ClusterMember]
}

extension ClusterStore {
    /// Takes part as a server whose node works.
    package func takePart() async throws -> TakenWork { try await takePart(isReceiving: true) }

    /// Whether the lease was renewed within ``ClusterLimits/renewalDelay``. Without that, the server is not ready.
    package var hasRecentLease: Bool { holdsLease(as: number, for: ClusterLimits.lease - ClusterLimits.renewalDelay) }
}

package enum ClusterLimits {
    /// Between two calls of ``ClusterStore/takePart()``. Clients wait 3 s for a reply.
    package static let interval = Duration.milliseconds(500)
    /// A shorter lease would fence servers whose database restarts.
    package static let lease = Duration.seconds(15)
    /// Ten renewals, which fail or hang for a reason that does not pass by itself.
    package static let renewalDelay = Duration.seconds(5)
    /// How long after its last renewal a member counts as living when an owner is chosen.
    package static let livingTime = Duration.seconds(3)
    /// Any member takes a recorded message that its owner has not taken within this time.
    package static let takingTime = Duration.seconds(1)
    /// Any member takes a segment that was passed to another member but not taken within this time. By then that member does not count as
    /// living, so the segment is not passed back.
    package static let passingTime = livingTime + takingTime
    /// A lease must last this long before a push is posted, so that a short pause between the check and the request does not outlast it.
    package static let postingTime = Duration.seconds(5)
    /// A fenced member's number is kept this long, because a frozen process may still write rows under it.
    package static let fencedMemory = Duration.seconds(7 * 86_400)
}

/// The work that a member took over.
package struct TakenWork: Sendable, Equatable {
    /// The rows of undecided messages.
    package var undecided: [Int64] = []
    /// The rows of messages whose reply was not marked as published.
    package var unreplied: [Int64] = []
    package var pushCount = 0
    /// The push proxies for which this member's Nextcloud origin pushes wait. Empty if it didn't take any over.
    package var waitingProxies: [WaitingProxy] = []
    /// Whether members have come or gone since the last call, so that other members may assemble the messages of waiting segments.
    package var haveMembersChanged = false

    package init() {}
}

/// A cluster member, for operators.
package struct ClusterMember: Sendable, Equatable {
    package enum State: String, Sendable {
        case alive
        /// It is about to stop or has lost its node, so it doesn't get further messages.
        case leaving
        /// Its lease has ended, and it is not fenced yet.
        case expired
        /// Its lease has ended for good, and the remaining members take over its work.
        case fenced
    }

    package var number: Int64
    package var name: String
    /// The program version.
    package var version: String
    package var state: State
    /// The time until the lease ends. Negative after that.
    package var lease: Duration
    package var undecidedCount: Int
    package var unrepliedCount: Int
    package var openPushCount: Int
    /// The time when its oldest undecided message was recorded, or nil if none exists.
    package var oldestUndecided: Timestamp?
    /// The jobs that it does for all.
    package var jobs: [String]

    package init(
        number: Int64, name: String, version: String, state: State, lease: Duration, undecidedCount: Int = 0, unrepliedCount: Int = 0,
        openPushCount: Int = 0, oldestUndecided: Timestamp? = nil, jobs: [String] = []
    ) {
        self.number = number
        self.name = name
        self.version = version
        self.state = state
        self.lease = lease
        self.undecidedCount = undecidedCount
        self.unrepliedCount = unrepliedCount
        self.openPushCount = openPushCount
        self.oldestUndecided = oldestUndecided
        self.jobs = jobs
    }
}
