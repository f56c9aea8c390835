import GRDB
import Store

/// Row numbers as ranges without gaps. Messages that arrive together are numbered and finished together, and a statement for a range takes
/// no longer than one for a row.
struct RowRanges: Sequence, IteratorProtocol {
    private let rows: [Int64]
    private var index = 0

    /// - Parameter rows: The rows, in any order. A row that is given twice is in two ranges.
    init(_ rows: [Int64]) {
        self.rows = rows.sorted()
    }

    mutating func next() -> ClosedRange<Int64>? {
        guard index < rows.count else { return nil }
        let first = rows[index]
        var last = first
        index += 1
        while index < rows.count, last < .max, rows[index] == last + 1 {
            last += 1
            index += 1
        }
        return first...last
    }
}

extension Database {
    /// Reads the rows of a query that takes a range of row numbers, range by range.
    ///
    /// - Parameter sql: A statement whose two parameters are the first and the last row.
    func all<Result>(_ sql: String, in ranges: RowRanges, read: (inout RowCursor) throws -> Result) throws -> [Result] {
        var results: [Result] = []
        for range in ranges {
            try forEach(sql, range.lowerBound, range.upperBound) { results.append(try read(&$0)) }
        }
        return results
    }
}
