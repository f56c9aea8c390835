import Dispatch
import GRDB
import GRDBSQLite
import Logging
import Store
import Synchronization

/// Copies the WAL into the database while the writer continues.
///
/// SQLite's automatic checkpoint runs inside a commit, which then waits for thousands of pages and an fsync of the database file. Here
/// another connection copies the present pages of the WAL while the writer continues. Then the writer copies, between two transactions,
/// the few pages that were added meanwhile, and restarts the WAL from its beginning. Without this second step the WAL of a busy server
/// would grow without limit, because SQLite restarts it only when all pages are copied.
final class WALCheckpointer: Sendable {
    /// Pages of the WAL, 8 MB, between two checkpoints. With a larger WAL a checkpoint keeps the disk busy for longer, and commits wait for
    /// that disk (measured: with 32 MB the 99th percentile from envelope to gorush doubles).
    private static let pageCount = 2_000

    private enum Phase {
        case idle
        /// The other connection copies.
        case copying
        /// The other connection has finished, and the writer copies the pages that were added since.
        case copied
    }

    private enum Step {
        case copyBeside, copyRest
    }

    private struct State {
        var phase = Phase.idle
        /// The number of pages that were written to the WAL since the last complete checkpoint.
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

    /// Begins a checkpoint if one is due. Call this on the writer's connection after each transaction.
    func afterCommit(_ writer: Database) {
        let writtenPageCount = writer.takeWrittenPageCount()
        let step = state.withLock { $0.step(afterWriting: writtenPageCount) }
        switch step {
        case .none: break
        case .copyBeside: connection.asyncWriteWithoutTransaction { self.copy($0) }
        case .copyRest: checkpoint(writer)
        }
    }

    /// Waits for a checkpoint in progress and closes the connection. It blocks its thread.
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
            // The WAL keeps the pages. The next attempt follows after `pageCount` further ones.
            logger.info("WAL checkpoint failed; retrying later", metadata: ["error": "\(StoreError(error))"])
        }
    }
}

extension Database {
    /// Returns the number of pages that this connection has written since the last call.
    fileprivate func takeWrittenPageCount() -> Int {
        var count: Int32 = 0
        var highest: Int32 = 0
        unsafe sqlite3_db_status(sqliteConnection, SQLITE_DBSTATUS_CACHE_WRITE, &count, &highest, 1)
        return Int(count)
    }
}
