private import CFaultyVFS

/// A simulated disk under one SQLite database, for tests of its failures: full, broken, or without power during a write. Attach it before
/// the database is opened. From then on, each open of that path uses this disk.
@safe package final class FaultyDisk: Sendable {
    /// The operations on the disk.
    package struct Operations: OptionSet, Sendable {
        package let rawValue: Int

        package init(rawValue: Int) { self.rawValue = rawValue }

        package static let open = Operations(rawValue: FAULTY_OPEN)
        package static let read = Operations(rawValue: FAULTY_READ)
        /// The write. A failing write writes its first half.
        package static let write = Operations(rawValue: FAULTY_WRITE)
        package static let truncate = Operations(rawValue: FAULTY_TRUNCATE)
        /// The sync. After a failing sync, as on Linux, the data can be read, but does not survive a power cut unless it is written again.
        package static let sync = Operations(rawValue: FAULTY_SYNC)
        package static let delete = Operations(rawValue: FAULTY_DELETE)
        /// The lock against other connections. While locks fail, SQLite's waits for them take no time.
        package static let lock = Operations(rawValue: FAULTY_LOCK)

        /// All operations that change a file or make the change durable.
        package static let changes: Operations = [.open, .write, .truncate, .sync, .delete]
    }

    /// The failure of a call, as one of SQLite's extended result codes (https://www.sqlite.org/rescode.html).
    package struct Failure: Hashable, Sendable {
        package let code: Int32

        package static let full = Failure(code: 13)
        package static let readError = Failure(code: 266)
        package static let writeError = Failure(code: 778)
        package static let syncError = Failure(code: 1034)
        package static let readOnly = Failure(code: 8)
        package static let busy = Failure(code: 5)
        /// A power cut, which fails that call and all later ones until ``FaultyDisk/restorePower(seed:)``.
        package static let powerCut = Failure(code: FAULTY_POWER_CUT)
    }

    /// A failure to attach the disk or restore the power, with SQLite's result code. Code 21 means that a file is still open.
    package struct Misuse: Error {
        package let code: Int32
    }

    /// Safe to share: the pointer is constant, and the disk behind it has its own mutex.
    nonisolated(unsafe) private let disk: OpaquePointer

    /// Attaches a disk.
    ///
    /// - Parameter database: The path of the file, which need not exist. Its folder must exist.
    package init(database: String) throws(Misuse) {
        guard let disk = unsafe faulty_disk_attach(database) else { throw Misuse(code: 14) }
        unsafe self.disk = disk
    }

    deinit { unsafe faulty_disk_detach(disk) }

    /// Makes calls of those operations fail, which replaces earlier failures.
    ///
    /// - Parameters:
    ///   - first: The number of the first call that fails, counted from 1 at this call.
    ///   - count: The number of failures. The default is all later calls.
    package func fail(_ operations: Operations, with failure: Failure, first: Int = 1, count: Int = .max) {
        unsafe faulty_disk_fail(disk, UInt32(operations.rawValue), UInt64(first), UInt64(count), failure.code)
    }

    /// Makes all operations succeed again, unless the power was cut.
    package func heal() { unsafe faulty_disk_heal(disk) }

    /// The number of calls that have failed since ``fail(_:with:first:count:)``.
    package var failureCount: Int { Int(unsafe faulty_disk_failure_count(disk)) }

    /// Cuts the power now.
    package func cutPower() { unsafe faulty_disk_cut_power(disk) }

    /// Restores the power once all files are closed. The files contain the data that was synced before the cut.
    ///
    /// - Parameter seed: Determines which unsynced 4-KiB pages survived nevertheless. With 0, none survived.
    package func restorePower(seed: UInt64 = 0) throws(Misuse) {
        let code = unsafe faulty_disk_restore_power(disk, seed)
        guard code == 0 else { throw Misuse(code: code) }
    }
}
