import Envelope
package import Store

/// A transaction, which sees its own changes. It is valid until it ends, on its connection's thread.
///
/// A statement without a result waits, and is sent together with the next query: a transaction of many statements takes few round trips.
package final class Transaction {
    enum Kind {
        /// One state of the database, for reading only.
        case reading
        case writing
    }

    /// The mark that a transaction leaves in the table `last_write`. If the row names it, the transaction has committed.
    struct Mark {
        /// A random number of the connection's owner.
        let writer: Int64
        /// The number of the transaction among the writer's.
        let sequence: Int64
    }

    private let connection: Connection
    private let mark: Mark
    private var waiting: [Command]
    /// The transaction's number, by which its outcome can be looked up, or nil until the first round trip, and for reading.
    private(set) var number: Int64?
    private let kind: Kind
    private var hasBegun = false
    /// When the transaction began, by the database's clock, once its mark is committed.
    private(set) var markedAt: Timestamp?
    /// Whether a statement has inserted, changed, deleted or returned rows.
    private var hasRows = false
    /// The number of rows that it has inserted, changed or deleted.
    private(set) var writtenRowCount = 0
    private var endAction: ((_ isDurable: Bool) -> Void)?

    init(_ kind: Kind, on connection: Connection, mark: Mark) {
        self.kind = kind
        self.connection = connection
        self.mark = mark
        waiting = []
    }

    /// Adds a statement whose result does not matter. It runs with the next query, or when the transaction commits.
    func add(_ command: Command) {
        waiting.append(command)
    }

    /// Runs the statements that wait and these, in a single round trip.
    ///
    /// - Returns: The results of `commands`.
    func fetch(_ commands: [Command]) throws(PostgreSQLError) -> [Rows] {
        let beginning = hasBegun ? [] : self.beginning
        // BEGIN has already succeeded even if a later statement of this round trip fails, so roll back.
        hasBegun = true
        let results = try connection.run(beginning + waiting + commands)
        if !beginning.isEmpty, kind == .writing { number = try? results[1].map { try $0.next(Int64.self) }.first }
        hasRows = hasRows || results[beginning.count...].contains { $0.changedCount > 0 }
        writtenRowCount += results[beginning.count...].reduce(0) { $0 + $1.writtenCount }
        let skipped = beginning.count + waiting.count
        waiting = []
        return Array(results[skipped...])
    }

    /// Runs the statements that wait, and makes the transaction durable.
    func commit() throws(PostgreSQLError) {
        guard hasBegun || !waiting.isEmpty else { return }
        // The number is known before the commit is sent, so that its outcome can be looked up.
        if !hasBegun { _ = try fetch([]) }
        // A mark would make a transaction without changes wait for the disk.
        guard kind == .writing, hasRows || !waiting.isEmpty else { return _ = try fetch([Command("COMMIT")]) }
        let results = try fetch([markCommand, Command("COMMIT")])
        markedAt = try? results[0].map { try $0.next(Timestamp.self) }.first
    }

    private var markCommand: Command {
        Command(
            """
            INSERT INTO last_write (writer, sequence) VALUES ($1, $2)
            ON CONFLICT (writer) DO UPDATE SET sequence = excluded.sequence, written_at = excluded.written_at
            RETURNING \(NewestMark.nanoseconds("written_at"))
            """,
            mark.writer, mark.sequence)
    }

    /// Sets what runs once the transaction is durable, or when it has failed. Whether a failed one is durable may be unknown.
    func atEnd(_ action: @escaping (_ isDurable: Bool) -> Void) {
        endAction = action
    }

    /// Tells that the transaction is durable.
    func complete() { end(isDurable: true) }

    /// Drops the action, which may refer to this transaction: together they would keep its connection permanently.
    private func end(isDurable: Bool) {
        let action = endAction
        endAction = nil
        action?(isDurable)
    }

    /// Undoes the transaction. A broken connection has done so already.
    func rollBack() {
        defer { end(isDurable: false) }
        if hasBegun, connection.isUsable { _ = try? connection.run([Command("ROLLBACK")]) }
    }

    private var beginning: [Command] {
        switch kind {
        case .reading: [Command("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")]
        case .writing: [Command("BEGIN"), Command("SELECT pg_current_xact_id()::text::int8")]
        }
    }
}

extension Transaction: SQLDatabase {
    package func add<each Value: SQLValue>(_ sql: String, _ values: repeat each Value) {
        add(Command(sql, repeat each values))
    }

    @discardableResult
    package func run<each Value: SQLValue>(_ sql: String, _ values: repeat each Value) throws -> Int {
        try fetch([Command(sql, repeat each values)])[0].changedCount
    }

    package func run<each Value: SQLValue>(
        _ sql: String, each rows: [(repeat each Value)], read: (inout RowCursor) throws -> Void
    ) throws -> [Int] {
        guard !rows.isEmpty else { return [] }
        return try fetch(rows.map { Command(sql, repeat each $0) }).map { result in
            _ = try result.map(read)
            return result.changedCount
        }
    }

    package func step<each Value: SQLValue>(
        _ sql: String, _ values: repeat each Value, read: (inout RowCursor) throws -> Bool
    ) throws {
        try fetch([Command(sql, repeat each values)])[0].step(read)
    }
}
