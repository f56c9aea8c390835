import GRDB
import Synchronization

/// Group commit: whatever waits when the writer gets free goes into one transaction, and so shares one fsync.
final class WriteQueue: Sendable {
    private struct Job: Sendable {
        /// Runs the body and returns what to do once the transaction is durable. Throws only when the transaction is gone.
        let run: @Sendable (Database) throws -> @Sendable () -> Void
        /// The transaction failed, or never began.
        let fail: @Sendable (StoreError) -> Void
    }

    private struct State {
        var waiting: [Job] = []
        var isDraining = false
        var isClosed = false
    }

    private let pool: DatabasePool
    private let state = Mutex(State())
    private let commits = Atomic<Int>(0)

    init(pool: DatabasePool) {
        self.pool = pool
    }

    /// Transactions committed since the store was opened.
    var commitCount: Int { commits.load(ordering: .relaxed) }

    /// Writes that wait for the transaction under way to end.
    var waitingCount: Int { state.withLock { $0.waiting.count } }

    /// Runs `body` in the next transaction and returns when that is durable, whether or not the calling task is cancelled. A body that
    /// throws undoes its own changes only.
    func perform<Result: Sendable>(_ body: @escaping @Sendable (Database) throws -> Result) async throws -> Result {
        try await withCheckedThrowingContinuation { continuation in
            submit(
                Job(
                    run: { database in
                        let result = try Self.runAlone(in: database, body)
                        return { continuation.resume(with: result) }
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
        guard isAccepted else { return job.fail(.closed) }
        if mustStart { pool.asyncWriteWithoutTransaction { self.drain($0) } }
    }

    private func drain(_ database: Database) {
        while let jobs = takeWaiting() {
            do {
                var completions: [@Sendable () -> Void] = []
                try database.inTransaction(.immediate) {
                    for job in jobs { completions.append(try job.run(database)) }
                    return .commit
                }
                commits.add(1, ordering: .relaxed)
                for completion in completions { completion() }
            } catch {
                for job in jobs { job.fail(StoreError(error)) }
            }
        }
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

    /// Some errors (disk full, I/O) make SQLite roll the whole transaction back by itself: then all fail together.
    private static func runAlone<Success>(
        in database: Database, _ body: (Database) throws -> Success
    ) throws -> Result<Success, any Error> {
        try database.run("SAVEPOINT body")
        let result = Result { try body(database) }
        if case .failure(let error) = result {
            guard database.isInsideTransaction else { throw error }
            try database.run("ROLLBACK TO body")
        }
        try database.run("RELEASE body")
        return result
    }
}
