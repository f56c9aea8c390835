import GRDB
import GRDBSQLite
import Store

extension StoreError {
    /// Of GRDB's error only the code is kept: its text may quote a statement.
    init(_ error: any Error) {
        switch error {
        case let error as StoreError: self = error
        case let error as DatabaseError where error.resultCode == .SQLITE_NOTADB: self = .notADatabase
        case let error as DatabaseError: self.init(code: error.extendedResultCode.rawValue)
        default: self.init(code: SQLITE_ERROR)
        }
    }

    /// - Parameter code: SQLite's, extended or not.
    init(code: Int32) {
        self = .failed(code: code, text: unsafe String(cString: sqlite3_errstr(code)))
    }
}
