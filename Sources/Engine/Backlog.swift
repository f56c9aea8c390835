import Concurrency
import Foundation

/// Rows of the journal that wait and that nobody has in memory: what a crash left, what found no room, what could not be published.
///
/// Only their numbers are kept here, as stretches of rows side by side: what waits is in the database, however long the node is away.
final class Backlog: Sendable {
    private let rows = Monitor(IndexSet())

    func add(_ rows: [Int64]) {
        self.rows.update { for row in rows { $0.insert(Int(row)) } }
    }

    /// Takes rows out that are about to be taken up.
    func remove(_ rows: ClosedRange<Int64>) {
        self.rows.update { $0.remove(integersIn: Int(rows.lowerBound)...Int(rows.upperBound)) }
    }

    /// Waits until there are rows.
    ///
    /// - Returns: the first stretch behind the row, or if there is none, of all; nil when the task was cancelled.
    func next(after row: Int64) async -> ClosedRange<Int64>? {
        await rows.wait { rows in
            let next = rows.integerGreaterThan(Int(row)) ?? rows.first
            return next.flatMap { rows.rangeView(of: $0...).first }.map { Int64($0.lowerBound)...Int64($0.upperBound - 1) }
        }
    }

    var isEmpty: Bool { rows.read(\.isEmpty) }

    /// Returns when no row waits, or when the task is cancelled.
    func waitUntilEmpty() async {
        await rows.wait { $0.isEmpty ? () : nil }
    }
}
