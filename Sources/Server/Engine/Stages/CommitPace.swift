/// How large the writer's transactions are.
///
/// After the store was away, a transaction has a single message, and twice as many after each success. So a message that is too large for
/// the space that is left is known after its first failure, and doesn't delay others.
struct CommitPace: Sendable {
    /// Beyond a few hundred messages, the cost of a commit no longer shows, but every reply waits for the last message.
    static let maximumCount = 500
    /// How much writer time a transaction may take, as estimated. Every other write waits that long.
    static let maximumCost = Duration.milliseconds(100)

    private var count = maximumCount

    /// Removes the next transaction's items. An item of more than ``maximumCost`` is alone.
    func next(of items: inout ArraySlice<CommitStage.Item>) -> ArraySlice<CommitStage.Item> {
        var end = items.startIndex
        var cost = Duration.zero
        while end < items.endIndex, end - items.startIndex < count {
            cost += items[end].work.cost
            guard cost <= Self.maximumCost || end == items.startIndex else { break }
            end += 1
        }
        defer { items = items[end...] }
        return items[..<end]
    }

    /// Records a transaction's end.
    mutating func ended(isAway: Bool) { count = isAway ? 1 : min(2 * count, Self.maximumCount) }
}
