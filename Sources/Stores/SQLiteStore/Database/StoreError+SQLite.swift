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
        let text = unsafe Self.faultOfFile(code) ?? String(cString: sqlite3_errstr(code))
        let isOfWholeStore = Self.codesOfWholeStore.contains(code & 0xFF) && !Self.codesOfPages.contains(code)
        self = isOfWholeStore ? .unavailable(code: code, text: text) : .failed(code: code, text: text)
    }

    private static func faultOfFile(_ code: Int32) -> String? { code & 0xFF == SQLITE_IOERR ? faultsOfFiles[code >> 8] : nil }

    /// What the system could not do, by the number of SQLite's `SQLITE_IOERR`, whose own text is "disk I/O error" for all of them.
    private static let faultsOfFiles: [Int32: String] = [
        1: "the file cannot be read", 2: "the file is shorter than it should be", 3: "the file cannot be written",
        4: "the file cannot be synced to the disk", 5: "the folder cannot be synced to the disk", 6: "the file cannot be truncated",
        7: "the system does not tell the file's size", 10: "the file cannot be deleted", 13: "the folder cannot be searched",
        15: "the file cannot be locked", 18: "the -shm file cannot be opened", 19: "the -shm file cannot be resized",
        21: "the -shm file cannot be mapped",
        25: "there is no folder for temporary files: mount a tmpfs at /tmp, or set SQLITE_TMPDIR to a folder with room for a copy",
    ]

    /// The primary result codes of errors that the next transaction would have too.
    private static let codesOfWholeStore: Set = [
        SQLITE_BUSY, SQLITE_NOMEM, SQLITE_READONLY, SQLITE_IOERR, SQLITE_FULL, SQLITE_CANTOPEN, SQLITE_PROTOCOL,
    ]
    /// Errors of reading one page, which transactions about other rows do not have.
    private static let codesOfPages: Set = [SQLITE_IOERR | 1 << 8, SQLITE_IOERR | 2 << 8]  // SQLITE_IOERR_READ and _SHORT_READ are macros
}
