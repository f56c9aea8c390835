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

    /// Removes the next transaction's work. A piece of more than ``maximumCost`` is alone.
    func next(of work: inout ArraySlice<CommitStage.Work>) -> ArraySlice<CommitStage.Work> {
        var end = work.startIndex
        var cost = Duration.zero
        while end < work.endIndex, end - work.startIndex < count {
            cost += work[end].cost
            guard cost <= Self.maximumCost || end == work.startIndex else { break }
            end += 1
        }
        defer { work = work[end...] }
        return work[..<end]
    }

    /// Records a transaction's end.
    mutating func ended(isAway: Bool) { count = isAway ? 1 : min(2 * count, Self.maximumCount) }
}
