import GRDB
import GRDBSQLite
import Glibc
import Store

extension Database {
    /// Returns whether the database has exceeded its maximum size, or the disk is nearly full.
    ///
    /// - Parameter maximum: The maximum number of used bytes in the database file. Nil means no limit.
    func isFull(above maximum: Int?) throws -> Bool {
        if let maximum, try usedByteCount() > maximum { return true }
        return DiskSpace(ofFile: databasePath)?.isScarce ?? false
    }

    /// The bytes of the pages in use.
    func usedByteCount() throws -> Int {
        try count(
            "SELECT (page_count - freelist_count) * page_size FROM pragma_page_count, pragma_freelist_count, pragma_page_size")
    }

    private var databasePath: String {
        unsafe sqlite3_db_filename(sqliteConnection, "main").map { unsafe String(cString: $0) } ?? ""
    }
}

/// A disk's space, in bytes.
package struct DiskSpace: Sendable {
    /// Reserved for registered installations: journal, outbox and WAL of a few days. A smaller disk reserves a twentieth.
    private static let reserve: UInt64 = 256 << 20

    package var free: UInt64
    var total: UInt64

    package init(free: UInt64, total: UInt64) {
        self.free = free
        self.total = total
    }

    /// Creates the space of the disk that has a file, or nil if the system does not report it, or what it reports cannot be.
    package init?(ofFile path: String) {
        var space = statvfs()
        guard unsafe statvfs(path, &space) == 0 else { return nil }
        self.init(
            freeBlockCount: UInt64(space.f_bavail), blockCount: UInt64(space.f_blocks), blockByteCount: UInt64(space.f_frsize))
    }

    /// Some file systems of networks and users' programs report no blocks at all, or more free ones than there are.
    init?(freeBlockCount: UInt64, blockCount: UInt64, blockByteCount: UInt64) {
        let (total, isOverflow) = blockCount.multipliedReportingOverflow(by: blockByteCount)
        guard !isOverflow, total > 0, freeBlockCount <= blockCount else { return nil }
        self.init(free: freeBlockCount * blockByteCount, total: total)
    }

    /// Whether the free space is reserved for registered installations.
    var isScarce: Bool { free < min(Self.reserve, total / 20) }
}
