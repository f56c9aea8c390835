import Concurrency
import Foundation

/// Rows of the journal that wait and that nobody has in memory: what a crash left, what found no room, what could not be published.
///
/// Only their numbers are kept here: what waits is in the database, however long the node is away.
final class Backlog: Sendable {
    enum Order {
        /// As it was sent.
        case oldestFirst
        /// Who still waits asked last.
        case newestFirst
    }

    private struct State: Sendable {
        var rows = IndexSet()
        /// Rows were taken out and are not in other hands yet.
        var isHandingOver = false

        var isEmpty: Bool { rows.isEmpty && !isHandingOver }
    }

    private let order: Order
    private let state = Monitor(State())

    init(order: Order = .oldestFirst) {
        self.order = order
    }

    func add(_ rows: [Int64]) {
        guard !rows.isEmpty else { return }
        state.update { for row in rows { $0.rows.insert(Int(row)) } }
    }

    /// Takes rows out, as far as they are there.
    func remove(_ rows: [Int64]) {
        guard !rows.isEmpty else { return }
        state.update { for row in rows { $0.rows.remove(Int(row)) } }
    }

    /// Takes rows out and hands them over, by one reader.
    ///
    /// - Parameter send: gets those that were still there. Called when they are out: they may come back at once.
    func handOver(_ rows: [Int64], to send: (Set<Int64>) -> Void) {
        let taken = state.update { state in
            state.isHandingOver = true
            return Set(rows.filter { state.rows.remove(Int($0)) != nil })
        }
        send(taken)
        state.update { $0.isHandingOver = false }
    }

    /// Waits until there are rows.
    ///
    /// - Returns: those whose turn it is, at most so many; nil when the task was cancelled.
    func next(maximumCount: Int) async -> [Int64]? {
        await state.wait { [order] state in
            guard !state.rows.isEmpty else { return nil }
            return switch order {
            case .oldestFirst: state.rows.prefix(maximumCount).map { Int64($0) }
            case .newestFirst: state.rows.suffix(maximumCount).map { Int64($0) }
            }
        }
    }

    /// Rows that wait.
    var count: Int { state.read(\.rows.count) }

    var isEmpty: Bool { state.read(\.isEmpty) }

    /// Returns when no row waits, or when the task is cancelled.
    func waitUntilEmpty() async {
        await state.wait { $0.isEmpty ? () : nil }
    }
}
