import GRDB
import GRDBSQLite
import Store

extension StoreError {
    /// Creates an error with the code of GRDB's error, without its text, which may quote a statement.
    init(_ error: any Error) {
        switch error {
        case let error as StoreError: self = error
        case let error as DatabaseError where error.resultCode == .SQLITE_NOTADB: self = .notADatabase
        case let error as DatabaseError: self.init(code: error.extendedResultCode.rawValue)
        default: self.init(code: SQLITE_ERROR)
        }
    }

    /// - Parameter code: A result code of SQLite, extended or not.
    init(code: Int32) {
        let text = unsafe String(cString: sqlite3_errstr(code))
        let isOfWholeStore = Self.codesOfWholeStore.contains(code & 0xFF) && !Self.codesOfPages.contains(code)
        self = isOfWholeStore ? .unavailable(code: code, text: text) : .failed(code: code, text: text)
    }

    /// The primary result codes of errors that the next transaction would have too.
    private static let codesOfWholeStore: Set = [
        SQLITE_BUSY, SQLITE_NOMEM, SQLITE_READONLY, SQLITE_IOERR, SQLITE_FULL, SQLITE_CANTOPEN, SQLITE_PROTOCOL,
    ]
    /// Errors of reading one page, which transactions about other rows do not have.
    private static let codesOfPages: Set = [SQLITE_IOERR | 1 << 8, SQLITE_IOERR | 2 << 8]  // SQLITE_IOERR_READ and _SHORT_READ are macros
}
