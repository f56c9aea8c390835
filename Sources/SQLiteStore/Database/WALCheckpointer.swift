import Dispatch
import GRDB
import GRDBSQLite
import Logging
import Store
import Synchronization

/// Copies the WAL into the database while the writer continues.
///
/// SQLite's automatic checkpoint runs inside a commit, which then waits for thousands of pages and an fsync of the
/// whole database. Here another connection copies what is in the log so far while the writer goes on; then the writer copies, between
/// two transactions, the little that was added meanwhile, after which it starts the log from its beginning. Without that second step
/// the log of a busy server would grow without end: it is only used anew when all of it has been copied.
final class WALCheckpointer: Sendable {
    /// 8 MB of log. The larger it is, the more often a page of an index is written to the log for each time that it is moved into the
    /// database; and the longer the commits meanwhile wait for a disk that is busy with it (measured: with 32 MB the 99th percentile from
    /// envelope to gorush is twice as large).
    private static let pageCount = 2_000

    private enum Phase {
        case idle
        /// The other connection copies.
        case copying
        /// The writer copies the pages that were added since.
        case copied
    }

    private enum Step {
        case copyBeside, copyRest
    }

    private struct State {
        var phase = Phase.idle
        /// Written to the log since it was last copied as a whole.
        var pageCount = 0

        mutating func step(afterWriting writtenPageCount: Int) -> Step? {
            pageCount += writtenPageCount
            switch phase {
            case .idle where pageCount >= WALCheckpointer.pageCount:
                phase = .copying
                return .copyBeside
            case .idle, .copying:
                return nil
            case .copied:
                self = State()
                return .copyRest
            }
        }
    }

    private let connection: DatabaseQueue
    private let logger: Logger
    private let state = Mutex(State())

    init(path: String, busyMode: Database.BusyMode, logger: Logger) throws {
        var configuration = Configuration()
        configuration.label = "store.checkpoint"
        configuration.busyMode = busyMode
        configuration.qos = .utility
        connection = try DatabaseQueue(path: path, configuration: configuration)
        try connection.writeWithoutTransaction { try $0.execute(sql: "PRAGMA synchronous = FULL") }
        self.logger = logger
    }

    /// Call it on the writer's connection after each transaction.
    func afterCommit(_ writer: Database) {
        let writtenPageCount = writer.takeWrittenPageCount()
        let step = state.withLock { $0.step(afterWriting: writtenPageCount) }
        switch step {
        case .none: break
        case .copyBeside: connection.asyncWriteWithoutTransaction { self.copy($0) }
        case .copyRest: checkpoint(writer)
        }
    }

    /// Returns when nothing is copied any more. Blocks.
    func close() throws {
        try connection.close()
    }

    private func copy(_ database: Database) {
        checkpoint(database)
        state.withLock { $0.phase = .copied }
    }

    private func checkpoint(_ database: Database) {
        do {
            try database.checkpoint(.passive)
        } catch {
            // The WAL keeps the pages; the next attempt follows when as many have been added.
            logger.info("the log was not moved into the database", metadata: ["error": "\(StoreError(error))"])
        }
    }
}

extension Database {
    /// Pages written since the last call.
    fileprivate func takeWrittenPageCount() -> Int {
        var count: Int32 = 0
        var highest: Int32 = 0
        unsafe sqlite3_db_status(sqliteConnection, SQLITE_DBSTATUS_CACHE_WRITE, &count, &highest, 1)
        return Int(count)
    }
}
