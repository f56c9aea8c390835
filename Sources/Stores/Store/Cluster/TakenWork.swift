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
