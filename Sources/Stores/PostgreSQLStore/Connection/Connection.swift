import Bytes
import CLibPQ
import Glibc
import Store

/// One connection to PostgreSQL, for one thread: its functions block.
///
/// It is in pipeline mode (https://www.postgresql.org/docs/15/libpq-pipeline-mode.html): all statements of a call are sent before the first
/// result is read, so a call costs one round trip. It is safe: it owns the `PGconn` and gives it to nobody.
@safe final class Connection {
    private let connection: OpaquePointer
    private let notices: NoticeLog?
    /// The parameters of a command's connection. A server notices in other ways that PostgreSQL hangs.
    private let commandParameters: [String: String]?
    /// The names of the prepared statements, by their text.
    private var names: [String: String] = [:]

    /// Connects.
    ///
    /// - Parameters:
    ///   - parameters: Keywords of libpq and their values.
    ///   - notices: The log for the server's notices, or nil for none.
    /// - Throws: `PostgreSQLError` if the server is unreachable or refuses the connection.
    init(_ parameters: [String: String], notices: NoticeLog? = nil) throws(PostgreSQLError) {
        self.notices = notices
        commandParameters = parameters["application_name"] == PostgreSQLLocation.commandName ? parameters : nil
        var start = ConnectionStart(parameters)
        unsafe connection = try start.run { connection in
            // The connection ends before the log: this object has both.
            let context = unsafe notices.map { unsafe Unmanaged.passUnretained($0).toOpaque() }
            unsafe PQsetNoticeReceiver(
                connection,
                { context, result in
                    guard let context = unsafe context, let text = unsafe PQresultErrorField(result, Connection.primaryMessage) else {
                        return
                    }
                    unsafe Unmanaged<NoticeLog>.fromOpaque(context).takeUnretainedValue().add(String(cString: text))
                }, context)
        }
        guard unsafe PQstatus(connection) == CONNECTION_OK, unsafe PQenterPipelineMode(connection) == 1 else {
            throw .disconnected(message)
        }
    }

    /// After how long a command asks whether PostgreSQL still answers.
    private static let patienceMilliseconds: Int32 = 5_000

    /// `PG_DIAG_MESSAGE_PRIMARY`.
    private static let primaryMessage = Int32(UInt8(ascii: "M"))

    deinit { unsafe PQfinish(connection) }

    /// Returns whether the server has kept the connection open meanwhile. It does not wait for the network.
    func isAlive() -> Bool {
        // The first read gets the server's last words, the second one the end.
        for _ in 1...2 where isUsable { unsafe PQconsumeInput(connection) }
        return isUsable
    }

    /// Whether the connection still works.
    var isUsable: Bool { unsafe PQstatus(connection) == CONNECTION_OK }

    /// Runs statements in one round trip. Outside a transaction they are one.
    ///
    /// - Throws: The first error. PostgreSQL skips the statements after it.
    func run(_ commands: [Command]) throws(PostgreSQLError) -> [Rows] {
        var expected: [Expectation] = []
        for command in commands {
            if names[command.sql] == nil {
                let name = "s\(names.count)"
                names[command.sql] = name
                expected.append(.preparation(command.sql))
                try send(unsafe PQsendPrepare(connection, name, command.sql, Int32(command.types.count), command.types))
            }
            expected.append(.rows)
            try send(command, as: names[command.sql] ?? "")
        }
        try send(unsafe PQpipelineSync(connection))
        return try receive(expected)
    }

    private enum Expectation {
        /// The result of the preparation of a statement.
        case preparation(String)
        case rows
    }

    private func receive(_ expected: [Expectation]) throws(PostgreSQLError) -> [Rows] {
        var results: [Rows] = []
        var firstError: PostgreSQLError?
        for expectation in expected {
            guard let result = unsafe try nextResult() else { throw .disconnected(message) }
            let status = unsafe PQresultStatus(result)
            let rows = unsafe Rows(result)
            switch status {
            case PGRES_TUPLES_OK, PGRES_COMMAND_OK:
                if case .rows = expectation { results.append(rows) }
            case PGRES_PIPELINE_ABORTED:
                if case .preparation(let sql) = expectation { names[sql] = nil }
            default:
                if case .preparation(let sql) = expectation { names[sql] = nil }
                firstError = firstError ?? (isUsable ? .failed(state: rows.errorState) : .disconnected(message))
            }
            // A null ends the results of each statement.
            while let more = unsafe try nextResult() { unsafe PQclear(more) }
            guard isUsable else { throw firstError ?? .disconnected(message) }
        }
        // The last result is that of the synchronization.
        if let last = unsafe try nextResult() { unsafe PQclear(last) }
        if let firstError { throw firstError }
        return results
    }

    /// Waits for the next result. A command that waits for long asks over another connection whether PostgreSQL still answers, because a
    /// long statement looks like a PostgreSQL that hangs.
    private func nextResult() throws(PostgreSQLError) -> OpaquePointer? {
        while let commandParameters, unsafe PQisBusy(connection) == 1 {
            var descriptor = unsafe pollfd(fd: PQsocket(connection), events: Int16(POLLIN), revents: 0)
            if unsafe poll(&descriptor, 1, Self.patienceMilliseconds) == 0 {
                var other = ConnectionStart(commandParameters)
                unsafe PQfinish(try other.run { _ in })
            } else if unsafe PQconsumeInput(connection) == 0 {
                break
            }
        }
        return unsafe PQgetResult(connection)
    }

    private func send(_ command: Command, as name: String) throws(PostgreSQLError) {
        let lengths = command.ranges.map { Int32($0?.count ?? 0) }
        let formats = [Int32](repeating: 1, count: command.ranges.count)
        // One byte more, so that an empty value has an address too: libpq sends a null address as NULL.
        let sent = unsafe (command.bytes + [0]).withUnsafeBufferPointer { bytes in
            let values = unsafe command.ranges.map { range -> UnsafePointer<CChar>? in
                guard let range, let base = bytes.baseAddress else { return nil }
                return unsafe UnsafeRawPointer(base + range.lowerBound).assumingMemoryBound(to: CChar.self)
            }
            return unsafe PQsendQueryPrepared(connection, name, Int32(values.count), values, lengths, formats, 1)
        }
        try send(sent)
    }

    private func send(_ result: Int32) throws(PostgreSQLError) {
        guard result == 1 else { throw .disconnected(message) }
    }

    /// The last message of libpq about the connection, without values.
    private var message: String {
        unsafe String(cString: PQerrorMessage(connection)).split(separator: "\n").first.map { PeerText($0).description } ?? ""
    }
}

/// An error of PostgreSQL or of the connection to it. The texts contain no stored value.
enum PostgreSQLError: Error, Equatable {
    /// A statement failed with that SQLSTATE (https://www.postgresql.org/docs/15/errcodes-appendix.html).
    case failed(state: String)
    /// The connection could not be made, or broke: libpq's message.
    case disconnected(String)
    case outOfMemory

    /// The SQLSTATE of a wait for a lock that took longer than `lock_timeout`.
    static let lockNotAvailable = "55P03"
    /// The SQLSTATE of a look-up of a transaction's number that PostgreSQL has never given away.
    static let invalidValue = "22023"

    /// Whether the same transaction may succeed if it runs again: a serialization failure or a deadlock.
    var isTransient: Bool { self == .failed(state: "40001") || self == .failed(state: "40P01") }

    /// Whether the next transaction would fail too: by the class of the SQLSTATE, the connection, resources such as the disk, an operator's
    /// shutdown, an error of the system, a database that is read-only, or a conflict that remains after all attempts.
    var isOfWholeStore: Bool {
        guard case .failed(let state) = self else { return true }
        return ["08", "53", "57", "58"].contains { state.hasPrefix($0) } || state == "25006" || isTransient
    }
}
