// Numbers in database rows can have any value: another role or program may have written them, or the disk changed them.

extension FixedWidthInteger where Self: SignedInteger {
    /// The sum, or the nearest number if it is out of range.
    package func clampedSum(_ other: Self) -> Self {
        let (sum, overflow) = addingReportingOverflow(other)
        return overflow ? (other < 0 ? .min : .max) : sum
    }

    /// The difference, or the nearest number if it is out of range.
    package func clampedDifference(_ other: Self) -> Self {
        let (difference, overflow) = subtractingReportingOverflow(other)
        return overflow ? (other > 0 ? .min : .max) : difference
    }
}

extension Int64 {
    /// Whether a store gives this number to a row.
    package var isRowNumber: Bool { self > 0 && self < .max }
}

extension Int {
    /// The number as a count of attempts or refusals, which this program continues: from 0 to a million.
    var asCountOfAttempts: Int { Swift.min(Swift.max(self, 0), 1_000_000) }
}
