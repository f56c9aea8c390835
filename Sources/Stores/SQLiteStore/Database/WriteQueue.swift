import GRDB
import Store
import Synchronization

/// Group commit: all writes that wait when the writer becomes free share one transaction and one fsync.
///
/// A failing write does not fail the others. When a transaction fails, the queue retries each of its writes in a transaction of its own,
/// and a write of several parts part by part. Savepoints would isolate writes too, but SQLite would copy each page that a write touches
/// (measured: three copies for each page in the WAL), and failures are rare.
final class WriteQueue: Sendable {
    private struct Job: Sendable {
        /// Performs the write, and returns the action to run once the transaction is durable.
        let run: @Sendable (WriteTransaction) throws -> @Sendable () -> Void
        /// Handles a failure of the job in a transaction of its own.
        ///
        /// - Returns: The parts of the job, to be retried one by one; empty if the caller has received the error.
        let fail: @Sendable (any Error) -> [Job]
    }

    private struct State {
        var waiting: [Job] = []
        var isDraining = false
        var isClosed = false
    }

    private let pool: DatabasePool
    private let secrets: DatabaseSecrets
    private let outbox: OutboxMemory
    private let checkpointer: WALCheckpointer?
    private let state = Mutex(State())
    private let commits = Atomic<Int>(0)
    private let metrics = StoreMetrics()

    init(pool: DatabasePool, secrets: DatabaseSecrets, outbox: OutboxMemory, checkpointer: WALCheckpointer?) {
        self.pool = pool
        self.secrets = secrets
        self.outbox = outbox
        self.checkpointer = checkpointer
    }

    /// The number of transactions committed since the store was opened.
    var commitCount: Int { commits.load(ordering: .relaxed) }

    /// The number of writes that wait for the current transaction.
    var waitingCount: Int { state.withLock { $0.waiting.count } }

    /// Runs `body` in the next transaction and returns when the transaction is durable. A cancelled task does not interrupt it.
    ///
    /// - Parameter body: Performs the write. It must have no other effects, because the queue may run it again after a rollback.
    /// - Throws: The error of `body`, or `StoreError` if the transaction failed or the queue is closed.
    func perform<Result: Sendable>(_ body: @escaping @Sendable (WriteTransaction) throws -> Result) async throws -> Result {
        try await withCheckedThrowingContinuation { continuation in
            submit(
                Job(
                    run: { transaction in
                        let result = try body(transaction)
                        return { continuation.resume(returning: result) }
                    },
                    fail: { error in
                        continuation.resume(throwing: error)
                        return []
                    }))
        }
    }

    /// Runs `body` on all parts together in the next transaction, or on each part in a transaction of its own if that fails.
    ///
    /// - Returns: The results in the order of the parts, each with the number of parts that it covers.
    func perform<Part: Sendable, Result: Sendable>(
        on parts: [Part], _ body: @escaping @Sendable ([Part], WriteTransaction) throws -> Result
    ) async -> [(partCount: Int, result: Swift.Result<Result, any Error>)] {
        guard !parts.isEmpty else { return [] }
        return await withCheckedContinuation { continuation in
            let results = Mutex<[(partCount: Int, result: Swift.Result<Result, any Error>)]>([])
            // The parts of a failed job run in their order, so the results are in that order too.
            @Sendable func end(_ count: Int, _ result: Swift.Result<Result, any Error>) {
                let all = results.withLock { results in
                    results.append((count, result))
                    return results
                }
                if all.reduce(0, { $0 + $1.partCount }) == parts.count { continuation.resume(returning: all) }
            }
            @Sendable func job(_ parts: [Part]) -> Job {
                Job(
                    run: { transaction in
                        let result = try body(parts, transaction)
                        return { end(parts.count, .success(result)) }
                    },
                    fail: { error in
                        guard parts.count == 1 else { return parts.map { job([$0]) } }
                        end(1, .failure(error))
                        return []
                    })
            }
            submit(job(parts))
        }
    }

    /// Closes the queue for further writes. Earlier writes are durable before the writer runs the next job of its connection.
    ///
    /// - Returns: Whether the queue was open.
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
        guard isAccepted else { return refuse(job, StoreError.closed) }
        if mustStart { pool.asyncWriteWithoutTransaction { self.drain($0) } }
    }

    private func refuse(_ job: Job, _ error: StoreError) {
        for part in job.fail(error) { refuse(part, error) }
    }

    private func drain(_ database: Database) {
        while let jobs = takeWaiting() { commit(jobs, to: database) }
    }

    private func commit(_ jobs: [Job], to database: Database) {
        var completions: [@Sendable () -> Void] = []
        let changes = OutboxChanges(outbox)
        let (start, earlierRowCount) = (ContinuousClock.now, database.totalChangesCount)
        do {
            try database.inTransaction(.immediate) {
                let transaction = WriteTransaction(
                    database: database, fingerprints: secrets.fingerprints, sealing: secrets.sealing, outbox: changes)
                for job in jobs { completions.append(try job.run(transaction)) }
                try transaction.ledger.write(to: database)
                return .commit
            }
        } catch let error as DatabaseError where error.resultCode == .SQLITE_BUSY {
            // Another process holds the lock. Each job alone would wait for the same time and fail too.
            for job in jobs { refuse(job, StoreError(error)) }
            return
        } catch {
            let rest = jobs.count > 1 ? jobs : jobs.flatMap { $0.fail(StoreError(error)) }
            for job in rest { commit([job], to: database) }
            return
        }
        metrics.committed(rowCount: database.totalChangesCount - earlierRowCount, after: ContinuousClock.now - start)
        commits.add(1, ordering: .relaxed)
        changes.keep()
        for completion in completions { completion() }
        checkpointer?.afterCommit(database)
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
