/// Searches for the pieces of a batch that fail its transaction. A part that fails is halved, so a piece that fails alone is found among
/// 500 with 19 transactions, of which 9 commit.
package struct Halving: Sendable {
    /// The locked rows that are searched for in a batch. Each takes up to half a second, and if there are more, a whole table is locked.
    package static let maximumLockedCount = 8

    private let count: Int
    /// The parts that are not committed yet, with the first part at the end.
    private var waiting: [Range<Int>]
    private var lockedCount = 0

    /// - Parameter count: The number of pieces in the batch.
    package init(count: Int) {
        self.count = count
        waiting = count > 0 ? [0..<count] : []
    }

    /// The part to try next, as positions in the batch, or nil if none is left.
    package var next: Range<Int>? { waiting.last }

    /// Records that the next part was committed.
    package mutating func succeed() { waiting.removeLast() }

    /// Records that the next part failed.
    ///
    /// - Returns: The pieces that fail with the error: none if the part is halved and tried again, the part's only piece, or all pieces
    ///   that are left if the whole store fails (``StoreError/isOfWholeStore``) or too many rows are locked.
    package mutating func fail(with error: any Error) -> Range<Int> {
        guard let part = waiting.popLast() else { return count..<count }
        if let error = error as? StoreError, error.isOfWholeStore {
            waiting = []
            return part.lowerBound..<count
        }
        guard part.count > 1 else {
            if case .rowLocked? = error as? StoreError { lockedCount += 1 }
            guard lockedCount >= Self.maximumLockedCount else { return part }
            waiting = []
            return part.lowerBound..<count
        }
        let middle = part.lowerBound + part.count / 2
        waiting += [middle..<part.upperBound, part.lowerBound..<middle]
        return part.lowerBound..<part.lowerBound
    }
}
