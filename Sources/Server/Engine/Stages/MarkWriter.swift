import Envelope
import Store
import Tasks
import Workers

/// Marks replies as published in the journal, so that no restart publishes them again.
final class MarkWriter: Sendable {
    /// A published reply's rows, and what to record in them.
    struct Mark: Sendable {
        var rows: [Int64]
        var completion: PendingReply.Completion
    }

    /// The maximum number of marks in a transaction. A higher limit gains nothing, because marks share transactions with other writes.
    private static let batchCount = 500
    /// The delay between attempts. Marks don't have a deadline: the writer retries them until the store accepts them.
    private static let retryInterval = Duration.seconds(1)

    private let context: EngineContext
    private let queue = BatchQueue<Mark>()
    private let unwrittenCount = Monitor(0)

    init(context: EngineContext) {
        self.context = context
    }

    /// The number of published replies that are not marked yet.
    var count: Int { unwrittenCount.read(\.self) }

    func send(_ mark: Mark) {
        unwrittenCount.update { $0 += 1 }
        queue.send(mark)
    }

    func finish() { queue.finish() }

    /// Returns when every mark is durable, or when the task is cancelled.
    func waitUntilIdle() async { await unwrittenCount.wait { $0 == 0 ? () : nil } }

    /// Returns when the writer is finished.
    func run() async {
        await withDiscardingTaskGroup { group in
            while let marks = await queue.next(maximumCount: Self.batchCount) {
                let failed = await write(marks)
                guard !failed.isEmpty else { continue }
                // The shutdown does not wait for a failing store. The next start publishes these replies again.
                if Task.isCancelled { break }
                group.addTask { [context, queue] in
                    if (try? await context.clock.sleep(for: Self.retryInterval)) != nil { queue.send(failed) }
                }
            }
            group.cancelAll()
        }
    }

    /// - Returns: The marks that could not be written.
    private func write(_ marks: [Mark]) async -> [Mark] {
        let committed = await context.commit(marks, at: context.wallClock.read().stamp) { _ in
            Lookups()
        } deciding: { mark, batch in
            switch mark.completion {
            case .reply: batch.markPublished(mark.rows)
            case .erasedReply: batch.eraseReplies(mark.rows)
            case .decision: for row in mark.rows { batch.decide(row, as: .silent) }
            }
        } hasWritten: { _, _ in
            true
        }
        var failed: [Mark] = []
        for (mark, outcome) in zip(marks, committed.outcomes) {
            guard let error = outcome.error else { continue }
            if StoreFault(error) != .taken {
                failed.append(mark)
            } else if mark.rows.count > 1 {
                // Another server has decided a query's segment. This server's rows are read again.
                context.giveBack(mark.rows)
            }
            // Another server that has taken the message marks it.
        }
        unwrittenCount.update { $0 -= marks.count - failed.count }
        return failed
    }
}
