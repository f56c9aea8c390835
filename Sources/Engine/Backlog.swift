import Concurrency
import Foundation

/// Rows of the journal that wait and that nobody has in memory: what a crash left, what found no room, what could not be published.
///
/// Only their numbers are kept here, as stretches of rows side by side: what waits is in the database, however long the node is away.
final class Backlog: Sendable {
    enum Order {
        /// As it was sent.
        case oldestFirst
        /// Who still waits asked last.
        case newestFirst
    }

    private let order: Order
    private let rows = Monitor(IndexSet())
    /// Whether rows that were taken are being sent on.
    private let isHandingOver = Monitor(false)

    init(order: Order = .oldestFirst) {
        self.order = order
    }

    func add(_ rows: [Int64]) {
        guard !rows.isEmpty else { return }
        self.rows.update { for row in rows { $0.insert(Int(row)) } }
    }

    /// Takes rows out, as far as they are there.
    func remove(_ rows: [Int64]) {
        guard !rows.isEmpty else { return }
        self.rows.update { for row in rows { $0.remove(Int(row)) } }
    }

    /// Takes rows out that are about to be taken up.
    ///
    /// - Returns: those that were still there.
    func take(_ rows: ClosedRange<Int64>) -> IndexSet {
        let range = Int(rows.lowerBound)...Int(rows.upperBound)
        return self.rows.update { rows in
            let taken = rows.intersection(IndexSet(integersIn: range))
            rows.remove(integersIn: range)
            return taken
        }
    }

    /// Waits until there are rows.
    ///
    /// - Returns: rows side by side, at most so many; nil when the task was cancelled.
    func next(maximumCount: Int) async -> ClosedRange<Int64>? {
        await rows.wait { [order] rows in
            switch order {
            case .oldestFirst:
                rows.rangeView.first.map { Int64($0.lowerBound)...Int64(min($0.upperBound, $0.lowerBound + maximumCount) - 1) }
            case .newestFirst:
                rows.rangeView.last.map { Int64(max($0.lowerBound, $0.upperBound - maximumCount))...Int64($0.upperBound - 1) }
            }
        }
    }

    /// Rows that wait.
    var count: Int { rows.read(\.count) }

    var isEmpty: Bool { rows.read(\.isEmpty) }

    /// Returns when no row waits, or when the task is cancelled.
    func waitUntilEmpty() async {
        await rows.wait { $0.isEmpty ? () : nil }
    }
}
