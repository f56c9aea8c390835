package import Envelope

/// What waits in the outbox, and what became of the pushes that were accepted since a time. Without secrets.
package struct WaitingPushes: Sendable, Equatable {
    /// The open pushes of a route whose newest attempt had the same result.
    package struct Group: Sendable, Equatable {
        package var route: String
        /// The reason why the newest attempts failed, or nil if none has failed.
        package var reason: String?
        package var count: Int
        /// When the oldest of them was accepted.
        package var oldestTime: Timestamp

        package init(route: String, reason: String?, count: Int, oldestTime: Timestamp) {
            (self.route, self.reason, self.count, self.oldestTime) = (route, reason, count, oldestTime)
        }
    }

    /// The group with the oldest push first.
    package var groups: [Group]
    package var oldest: [TracedPush]
    /// How many of the accepted pushes have finished, by outcome.
    package var finishedCounts: [PushOutcome: Int]
    /// How many of the accepted pushes are open.
    package var openCount: Int

    package init(groups: [Group], oldest: [TracedPush], finishedCounts: [PushOutcome: Int], openCount: Int) {
        (self.groups, self.oldest, self.finishedCounts, self.openCount) = (groups, oldest, finishedCounts, openCount)
    }
}
