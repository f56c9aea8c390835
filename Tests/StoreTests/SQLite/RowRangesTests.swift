import TestSupport
import Testing

@testable import SQLiteStore

@Suite(.safetyNet) struct RowRangesTests {
    @Test(
        arguments: [
            ([], []),
            ([7], [7...7]),
            ([3, 1, 2], [1...3]),
            ([1, 2, 4, 5, 9], [1...2, 4...5, 9...9]),
            // A repeated row is in two ranges, so that a statement that must change each row once detects it.
            ([5, 5, 6], [5...5, 5...6]),
        ] as [([Int64], [ClosedRange<Int64>])])
    func `rows without a gap form one range`(rows: [Int64], ranges: [ClosedRange<Int64>]) {
        #expect(Array(RowRanges(rows)) == ranges)
    }
}
