import GRDB
import Synchronization

/// Group commit: whatever waits when the writer gets free goes into one transaction, and so shares one fsync.
///
/// A body that throws must spoil it for no other, and hardly any ever does. So there are no savepoints, for which SQLite would copy each
/// page that a body touches (measured: three copies for each page that went to the log): the transaction is rolled back and run again
/// without that body.
final class WriteQueue: Sendable {
    private struct Job: Sendable {
        /// Runs the body and returns what to do once the transaction is durable.
        let run: @Sendable (StoreTransaction) throws -> @Sendable () -> Void
        let fail: @Sendable (any Error) -> Void
    }

    private struct State {
        var waiting: [Job] = []
        var isDraining = false
        var isClosed = false
    }

    private let pool: DatabasePool
    private let checkpointer: Checkpointer?
    private let state = Mutex(State())
    private let commits = Atomic<Int>(0)

    init(pool: DatabasePool, checkpointer: Checkpointer?) {
        self.pool = pool
        self.checkpointer = checkpointer
    }

    /// Transactions committed since the store was opened.
    var commitCount: Int { commits.load(ordering: .relaxed) }

    /// Writes that wait for the transaction under way to end.
    var waitingCount: Int { state.withLock { $0.waiting.count } }

    /// Runs `body` in the next transaction and returns when that is durable, whether or not the calling task is cancelled. A body that
    /// throws undoes its own changes only. It may be run again after its changes were undone: it must have no other effects.
    func perform<Result: Sendable>(_ body: @escaping @Sendable (StoreTransaction) throws -> Result) async throws -> Result {
        try await withCheckedThrowingContinuation { continuation in
            submit(
                Job(
                    run: { transaction in
                        let result = try body(transaction)
                        return { continuation.resume(returning: result) }
                    },
                    fail: { continuation.resume(throwing: $0) }))
        }
    }

    /// Lets no more in. What was let in before is written first, if the caller then waits for the writer.
    ///
    /// - Returns: false if it was closed before.
    func close() -> Bool {
        state.withLock { state in
            defer { state.isClosed = true }
            return !state.isClosed
        }
    }

    private func submit(_ job: Job) {
        let (isAccepted, mustStart) = state.withLock { state in
            guard !state.isClosed else { return (false, false) }
            state.waiting.append(job)
            defer { state.isDraining = true }
            return (true, !state.isDraining)
        }
        guard isAccepted else { return job.fail(StoreError.closed) }
        if mustStart { pool.asyncWriteWithoutTransaction { self.drain($0) } }
    }

    private func drain(_ database: Database) {
        while var jobs = takeWaiting() {
            while !jobs.isEmpty {
                guard let spoiler = commit(jobs, to: database) else { break }
                jobs.remove(at: spoiler)
            }
        }
    }

    /// - Returns: the index of a job that threw and has been told so: nothing is kept, and the others are to be tried again. nil when all
    ///   have been told how it went.
    private func commit(_ jobs: [Job], to database: Database) -> Int? {
        var completions: [@Sendable () -> Void] = []
        var spoiler: Int?
        do {
            try database.inTransaction(.immediate) {
                let transaction = StoreTransaction(database: database)
                for job in jobs {
                    do {
                        completions.append(try job.run(transaction))
                    } catch where database.isInsideTransaction {
                        // After some errors (disk full, I/O) it is not: SQLite has given the transaction up, and all fail together.
                        spoiler = completions.count
                        throw error
                    }
                }
                try transaction.ledger.write(to: database)
                return .commit
            }
        } catch {
            guard let spoiler else {
                for job in jobs { job.fail(StoreError(error)) }
                return nil
            }
            jobs[spoiler].fail(error)
            return spoiler
        }
        commits.add(1, ordering: .relaxed)
        for completion in completions { completion() }
        checkpointer?.afterCommit(database)
        return nil
    }

    private func takeWaiting() -> [Job]? {
        state.withLock { state in
            guard !state.waiting.isEmpty else {
                state.isDraining = false
                return nil
            }
            defer { state.waiting = [] }
            return state.waiting
        }
    }
}
