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
        self = .failed(code: code, text: unsafe String(cString: sqlite3_errstr(code)))
    }
}
