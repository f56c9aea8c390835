/// The changes of the ledger in a transaction.
package final class LedgerChanges {
    /// How often each milestone was reached, and how many of its rows were pruned.
    package private(set) var amounts: [Milestone: (count: Int, pruned: Int)] = [:]

    package init() {}

    package func add(_ milestone: Milestone, count: Int) {
        amounts[milestone, default: (0, 0)].count += count
    }

    /// Notes that rows which stood for a milestone are deleted.
    package func add(_ milestone: Milestone, pruned: Int) {
        amounts[milestone, default: (0, 0)].pruned += pruned
    }
}
