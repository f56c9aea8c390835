import Bytes
package import Envelope
import StatusCrypto

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
    package enum State: String, Sendable, CaseIterable {
        case alive
        /// It is about to stop or has lost its node, so it doesn't get further messages.
        case leaving
        /// Its lease has ended, and it is not fenced yet.
        case expired
        /// Its lease has ended for good, and the remaining members take over its work.
        case fenced

        /// Whether its process counts as one that uses the database.
        package var isRunning: Bool {
            switch self {
            case .alive, .leaving: true
            case .expired, .fenced: false
            }
        }
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
