import GRDB
import Store
import Synchronization

/// Group commit: all writes that wait when the writer becomes free share a transaction and an fsync.
///
/// A failing write does not fail the others. When a transaction fails, the queue searches for the write, or the part of it, that fails
/// alone (``Halving``). Savepoints would isolate writes too, but SQLite would copy every page that a write touches (measured: three copies
/// for each page in the WAL), and failures are rare.
final class WriteQueue: Sendable {
    private struct Job: Sendable {
        /// The number of parts that can be written separately.
        var partCount = 1
        /// Writes parts, and returns the action to run once the transaction is durable.
        let run: @Sendable (Range<Int>, WriteTransaction) throws -> @Sendable () -> Void
        /// Passes the error of parts to the caller.
        let fail: @Sendable (Range<Int>, any Error) -> Void
    }

    private struct State {
        var waiting: [Job] = []
        var isDraining = false
        var isClosed = false
    }

    private let pool: DatabasePool
    private let file: OpenedFile
    private let secrets: DatabaseSecrets
    private let damagedRows: DamagedRows
    private let outbox: OutboxMemory
    private let checkpointer: WALCheckpointer?
    private let state = Mutex(State())
    private let commits = Atomic<Int>(0)
    private let metrics = StoreMetrics()

    init(
        pool: DatabasePool, file: OpenedFile, secrets: DatabaseSecrets, damagedRows: DamagedRows, outbox: OutboxMemory,
        checkpointer: WALCheckpointer?
    ) {
        self.pool = pool
        self.file = file
        self.secrets = secrets
        self.damagedRows = damagedRows
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
                    run: { _, transaction in
                        let result = try body(transaction)
                        return { continuation.resume(returning: result) }
                    },
                    fail: { _, error in continuation.resume(throwing: error) }))
        }
    }

    /// Runs `body` on all parts together in the next transaction. If that fails, it runs on smaller numbers of parts.
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
            submit(
                Job(
                    partCount: parts.count,
                    run: { positions, transaction in
                        let result = try body(Array(parts[positions]), transaction)
                        return { end(positions.count, .success(result)) }
                    },
                    fail: { positions, error in end(positions.count, .failure(error)) }))
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
        guard isAccepted else { return job.fail(0..<job.partCount, StoreError.closed) }
        if mustStart { pool.asyncWriteWithoutTransaction { self.drain($0) } }
    }

    private func drain(_ database: Database) {
        while let jobs = takeWaiting() {
            var halving = Halving(count: jobs.reduce(0) { $0 + $1.partCount })
            while let part = halving.next {
                do {
                    try commit(Self.parts(of: jobs, at: part), to: database)
                    halving.succeed()
                } catch {
                    let error = StoreError(error)
                    for (job, positions) in Self.parts(of: jobs, at: halving.fail(with: error)) { job.fail(positions, error) }
                }
            }
        }
    }

    /// Returns the parts of jobs at positions in all of their parts.
    private static func parts(of jobs: [Job], at positions: Range<Int>) -> [(job: Job, positions: Range<Int>)] {
        var start = 0
        return jobs.compactMap { job in
            defer { start += job.partCount }
            let own = positions.clamped(to: start..<start + job.partCount)
            return own.isEmpty ? nil : (job, own.lowerBound - start..<own.upperBound - start)
        }
    }

    private func commit(_ parts: [(job: Job, positions: Range<Int>)], to database: Database) throws {
        var completions: [@Sendable () -> Void] = []
        let changes = OutboxChanges(outbox)
        let (start, earlierRowCount) = (ContinuousClock.now, database.totalChangesCount)
        try file.check()
        do {
            try database.inTransaction(.immediate) {
                let transaction = WriteTransaction(database: database, secrets: secrets, damagedRows: damagedRows, outbox: changes)
                for (job, positions) in parts { completions.append(try job.run(positions, transaction)) }
                try transaction.ledger.write(to: database)
                return .commit
            }
        } catch {
            changes.abandon()
            throw error
        }
        // Nothing is answered with success that only a moved or deleted file has.
        try file.check()
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
