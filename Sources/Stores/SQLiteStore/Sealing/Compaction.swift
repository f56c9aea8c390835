import GRDB
import Logging
import Store

/// Rewrites the database file at the start after re-sealing.
///
/// SQLite moves rows between pages and leaves copies of them in the unused bytes of a page. Only a rewrite removes the copies that
/// an older key has sealed. It takes seconds for a gigabyte and excludes all other writes, so it does not run in a running server.
enum Compaction {
    /// Compacts if re-sealing has ended since the last compaction. The database works without it, so a failure is logged only, and the next
    /// start tries again.
    static func runIfNeeded(_ pool: DatabasePool, logger: Logger) {
        do {
            try pool.writeWithoutTransaction { database in
                let isNeeded = try database.first("SELECT needs_compaction FROM sealing") { try $0.next(Bool.self) } ?? false
                guard isNeeded else { return }
                logger.notice("compacting the database after re-sealing")
                // The copy may be larger than the memory.
                try database.execute(sql: "PRAGMA temp_store = FILE")
                defer { try? database.execute(sql: "PRAGMA temp_store = MEMORY") }
                try database.execute(sql: "VACUUM")
                try database.checkpoint(.truncate)
                try database.execute(sql: "UPDATE sealing SET needs_compaction = 0")
                logger.notice("compacted the database")
            }
        } catch {
            logger.warning("compacting the database failed; retrying at the next start", metadata: ["error": "\(StoreError(error))"])
        }
    }
}
