import Store

/// Statements of several that run in one round trip, and how their results are read.
struct Query<Result> {
    fileprivate let commands: [Command]
    fileprivate let read: (inout IndexingIterator<[Rows]>) throws -> Result

    private init(_ command: Command, isNeeded: Bool = true, otherwise: Result, read: @escaping (Rows) throws -> Result) {
        commands = isNeeded ? [command] : []
        self.read = { results in isNeeded ? try results.next().map(read) ?? otherwise : otherwise }
    }

    private init(commands: [Command], read: @escaping (inout IndexingIterator<[Rows]>) throws -> Result) {
        (self.commands, self.read) = (commands, read)
    }

    /// Reads all rows.
    ///
    /// - Parameter isNeeded: Whether the statement runs. For one about no keys, PostgreSQL may read a whole index to find that no row has
    ///   one of them.
    static func all<each Value: SQLValue, Row>(
        _ sql: String, _ values: repeat each Value, isNeeded: Bool = true, read: @escaping (inout RowCursor) throws -> Row
    ) -> Query where Result == [Row] {
        Query(Command(sql, repeat each values), isNeeded: isNeeded, otherwise: []) { try $0.map(read) }
    }

    /// Reads the first row.
    static func first<each Value: SQLValue, Row>(
        _ sql: String, _ values: repeat each Value, read: @escaping (inout RowCursor) throws -> Row
    ) -> Query where Result == Row? {
        Query(Command(sql, repeat each values), otherwise: nil) { try $0.map(read).first }
    }

    /// Reads the one number of a `SELECT count(*)`.
    static func count<each Value: SQLValue>(_ sql: String, _ values: repeat each Value) -> Query where Result == Int {
        Query(Command(sql, repeat each values), otherwise: 0) { try $0.map { try $0.next(Int.self) }.first ?? 0 }
    }

    /// Returns the number of rows that the statement inserted, changed or deleted.
    static func run<each Value: SQLValue>(
        _ sql: String, _ values: repeat each Value, isNeeded: Bool = true
    ) -> Query where Result == Int {
        Query(Command(sql, repeat each values), isNeeded: isNeeded, otherwise: 0) { $0.changedCount }
    }

    /// Runs each query.
    static func each<Element>(_ queries: [Query<Element>]) -> Query where Result == [Element] {
        Query(commands: queries.flatMap(\.commands)) { results in try queries.map { try $0.read(&results) } }
    }
}

extension Transaction {
    /// Runs the statements that wait and these, in a single round trip.
    func fetch<each Result>(_ query: repeat Query<each Result>) throws -> (repeat each Result) {
        var commands: [Command] = []
        for query in repeat each query { commands += query.commands }
        var results = try (commands.isEmpty ? [] : fetch(commands)).makeIterator()
        return (repeat try (each query).read(&results))
    }
}
