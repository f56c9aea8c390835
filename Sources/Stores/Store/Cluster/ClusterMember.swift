package import Envelope

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
