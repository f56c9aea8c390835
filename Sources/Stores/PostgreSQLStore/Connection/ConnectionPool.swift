import DequeModule
import Dispatch
import Platform
import Store
import Synchronization

/// Connections to one database, each on a thread of its own, because libpq blocks. A job takes whatever connection is free.
final class ConnectionPool: Sendable {
    private typealias Job = @Sendable (ConnectionSlot) -> Void

    private struct State {
        var waiting: Deque<Job?> = []
        var isClosed = false
        var threadCount = 0
        /// Called when the last thread has ended.
        var whenClosed: (@Sendable () -> Void)?
    }

    private let state = Mutex(State())
    private let semaphore = DispatchSemaphore(value: 0)

    /// - Parameters:
    ///   - limitsLocks: Whether a transaction fails that waits for a lock longer than ``LockLimit/batch``.
    ///   - notices: The log for the server's notices, or nil for none.
    ///   - newestMark: The newest marks of all connections.
    init(
        _ parameters: [String: String], connectionCount: Int, limitsLocks: Bool = false, notices: NoticeLog? = nil,
        newestMark: NewestMark = NewestMark()
    ) {
        state.withLock { $0.threadCount = connectionCount }
        for _ in 0..<connectionCount {
            // The thread owns the pool: it ends when the pool is closed.
            startThread(named: "postgresql") { [self] in
                var slot = ConnectionSlot(parameters, limitsLocks: limitsLocks, notices: notices, newestMark: newestMark)
                while let job = take() { job(slot) }
                slot = ConnectionSlot(parameters)
                end()
            }
        }
    }

    /// Runs a transaction and returns when it is durable. A cancelled task does not interrupt it.
    ///
    /// - Parameter body: It must have no other effects, because it runs again after a conflict with another transaction.
    /// - Throws: The error of `body`, or `StoreError`.
    func perform<Result: Sendable>(
        _ kind: Transaction.Kind, _ body: @escaping @Sendable (Transaction) throws -> Result
    ) async throws -> Result {
        try await withCheckedThrowingContinuation { continuation in
            let isAccepted = put { slot in
                continuation.resume(with: Swift.Result { try slot.perform(kind, body) })
            }
            if !isAccepted { continuation.resume(throwing: StoreError.closed) }
        }
    }

    /// Completes the transactions that wait, and closes the connections. Later ones fail.
    func close() async {
        await withCheckedContinuation { continuation in
            let threadCount = state.withLock { state in
                guard !state.isClosed else { return 0 }
                state.isClosed = true
                state.whenClosed = { continuation.resume() }
                state.waiting += Array(repeating: nil, count: state.threadCount)
                return state.threadCount
            }
            if threadCount == 0 { continuation.resume() }
            for _ in 0..<threadCount { semaphore.signal() }
        }
    }

    private func put(_ job: @escaping Job) -> Bool {
        let isAccepted = state.withLock { state in
            guard !state.isClosed else { return false }
            state.waiting.append(job)
            return true
        }
        if isAccepted { semaphore.signal() }
        return isAccepted
    }

    /// - Returns: The next job; nil when the pool is closed.
    private func take() -> Job? {
        semaphore.wait()
        return state.withLock { $0.waiting.popFirst() } ?? nil
    }

    private func end() {
        let whenClosed = state.withLock { state in
            state.threadCount -= 1
            return state.threadCount == 0 ? state.whenClosed : nil
        }
        whenClosed?()
    }
}

/// The connection of one thread, which is made when a transaction needs it, and made again after it broke.
final class ConnectionSlot {
    /// Each conflict lets another transaction through, so a transaction succeeds after a few attempts.
    private static let maximumAttemptCount = 10

    /// A commit is on disk when it returns, whatever the database's default. A stricter setting stays.
    private static let durability = """
        SELECT CASE WHEN current_setting('synchronous_commit') = 'off' THEN set_config('synchronous_commit', 'on', false) END
        """
    /// The settings of each connection once more, because a pooler may ignore those with which it was opened.
    private static let settings = PostgreSQLLocation.sessionSettings.map { "set_config('\($0.name)', '\($0.value)', false)" }

    /// How long the outcome of a commit is looked up, which is longer than a restart or a failover takes. Afterwards the row waits for the
    /// next start, or for another server.
    private static let longestOutage = Duration.seconds(60)
    private static let lookUpIntervalMicroseconds: UInt32 = 100_000

    private let parameters: [String: String]
    private let limitsLocks: Bool
    private let notices: NoticeLog?
    private let newestMark: NewestMark
    private var writer = Int64.random(in: .min ... .max)
    private var transactionCount: Int64 = 0
    private var connection: Connection?
    /// Whether the newest marks were looked for on this connection.
    private var isCompared = false

    init(
        _ parameters: [String: String], limitsLocks: Bool = false, notices: NoticeLog? = nil, newestMark: NewestMark = NewestMark()
    ) {
        (self.parameters, self.limitsLocks, self.notices, self.newestMark) = (parameters, limitsLocks, notices, newestMark)
    }

    func perform<Result>(_ kind: Transaction.Kind, _ body: (Transaction) throws -> Result) throws -> Result {
        var attemptCount = 1
        while true {
            do {
                return try attempt(kind, body)
            } catch let error as PostgreSQLError {
                // The row of the mark, too, may be locked. The next transaction leaves its mark in another one.
                if error == .failed(state: PostgreSQLError.lockNotAvailable) { writer = .random(in: .min ... .max) }
                guard error.isTransient, attemptCount < Self.maximumAttemptCount else { throw StoreError(error) }
                attemptCount += 1
            }
        }
    }

    private func attempt<Result>(_ kind: Transaction.Kind, _ body: (Transaction) throws -> Result) throws -> Result {
        try newestMark.check()
        let connection = try usable()
        if kind == .writing, newestMark.isDue(onNewConnection: !isCompared) { try compare(on: connection) }
        let (mark, transaction) = begin(kind, on: connection)
        do {
            let result = try body(transaction)
            try commit(transaction, mark)
            if let time = transaction.markedAt { newestMark.committed(mark, at: time, on: self) }
            transaction.complete()
            return result
        } catch {
            transaction.rollBack()
            throw error
        }
    }

    private func begin(_ kind: Transaction.Kind, on connection: Connection) -> (Transaction.Mark, Transaction) {
        transactionCount += 1
        let mark = Transaction.Mark(writer: writer, sequence: transactionCount)
        return (mark, Transaction(kind, on: connection, mark: mark))
    }

    /// Looks for the newest marks of this process. If one is missing, stores what is lost.
    private func compare(on connection: Connection) throws {
        let (_, comparison) = begin(.reading, on: connection)
        let result: NewestMark.Comparison
        do {
            defer { comparison.rollBack() }
            result = try newestMark.compare(in: comparison)
        }
        // A standby refuses the transaction that follows.
        isCompared = result != .standby
        guard case .missing(let lost) = result else { return }
        let (_, transaction) = begin(.writing, on: connection)
        do {
            newestMark.store(lost, in: transaction)
            try transaction.commit()
        } catch {
            transaction.rollBack()
            throw error
        }
        newestMark.lose(lost)
        try newestMark.check()
    }

    /// Commits a transaction. If the connection breaks meanwhile, looks its outcome up.
    private func commit(_ transaction: Transaction, _ mark: Transaction.Mark) throws(PostgreSQLError) {
        do {
            try transaction.commit()
        } catch {
            guard case .disconnected = error, let number = transaction.number else { throw error }
            guard try hasCommitted(number, mark) else { throw error }
        }
    }

    /// Looks up the outcome of a commit as soon as the database can be reached again. A living server that considered a commit failed
    /// would lose sight of the rows that it has recorded.
    private func hasCommitted(_ number: Int64, _ mark: Transaction.Mark) throws(PostgreSQLError) -> Bool {
        let start = ContinuousClock.now
        while true {
            do throws(PostgreSQLError) {
                // PostgreSQL notices the broken connection late, so the transaction may still be in progress. The number proves nothing
                // else: after a crash, PostgreSQL gives numbers that it had not yet written to the disk to other transactions.
                let query = Command("SELECT pg_xact_status($1::text::xid8) = 'in progress'", number)
                if try !isTrue(query) {
                    return try isTrue(
                        Command(
                            "SELECT EXISTS (SELECT FROM last_write WHERE writer = $1 AND sequence = $2)", mark.writer, mark.sequence))
                }
            } catch {
                if error == .failed(state: PostgreSQLError.invalidValue) { return false }
                guard ContinuousClock.now - start < Self.longestOutage else { throw error }
            }
            usleep(Self.lookUpIntervalMicroseconds)
        }
    }

    /// Runs a query that returns a Boolean. NULL counts as false.
    private func isTrue(_ query: Command) throws(PostgreSQLError) -> Bool {
        let rows = try usable().run([query])
        return (try? rows[0].map { try $0.next(Bool?.self) })?.first == true
    }

    private func usable() throws(PostgreSQLError) -> Connection {
        if let connection, connection.isAlive() { return connection }
        connection = nil
        let connection = try Connection(parameters, notices: notices)
        _ = try connection.run(
            [Command(Self.durability), Command("SELECT \(Self.settings.joined(separator: ", "))")] + (limitsLocks ? [LockLimit.batch] : []))
        (self.connection, isCompared) = (connection, false)
        return connection
    }
}

extension StoreError {
    init(_ error: any Error) {
        switch error {
        case let error as StoreError: self = error
        case let error as PostgreSQLError: self.init(error)
        default: self = .damaged
        }
    }

    init(_ error: PostgreSQLError) {
        switch error {
        case .failed(state: PostgreSQLError.lockNotAvailable): self = .rowLocked(by: nil)
        case .failed(let state) where Pooling.sharingStates.contains(state): self = .sharedSessions
        case .failed(let state):
            let text = "PostgreSQL reports SQLSTATE \(state)"
            self = error.isOfWholeStore ? .unavailable(code: 0, text: text) : .failed(code: 0, text: text)
        case .disconnected(let message): self = .unreachable(message + Pooling.advice(about: message))
        case .outOfMemory: self = .failed(code: 0, text: "out of memory")
        }
    }
}
