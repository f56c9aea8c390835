private import CFaultyVFS

/// The disk under one SQLite database, for tests of what happens when it fails: full, broken, or without power in the middle of a
/// write. Attach it before the database is opened; whoever opens that path then, opens it on this disk.
@safe package final class FaultyDisk: Sendable {
    /// What the disk is asked to do.
    package struct Operations: OptionSet, Sendable {
        package let rawValue: Int

        package init(rawValue: Int) { self.rawValue = rawValue }

        package static let open = Operations(rawValue: FAULTY_OPEN)
        package static let read = Operations(rawValue: FAULTY_READ)
        /// Fails with its first half written.
        package static let write = Operations(rawValue: FAULTY_WRITE)
        package static let truncate = Operations(rawValue: FAULTY_TRUNCATE)
        /// Fails as on Linux: what was to be synced can be read, but does not survive a power cut unless it is written again.
        package static let sync = Operations(rawValue: FAULTY_SYNC)
        package static let delete = Operations(rawValue: FAULTY_DELETE)
        /// Taking a lock against other connections. SQLite's waiting for it takes no time.
        package static let lock = Operations(rawValue: FAULTY_LOCK)

        /// All that changes a file or makes the change durable.
        package static let changes: Operations = [.open, .write, .truncate, .sync, .delete]
    }

    /// How a call fails: SQLite's extended result codes (https://www.sqlite.org/rescode.html).
    package struct Failure: Hashable, Sendable {
        package let code: Int32

        package static let full = Failure(code: 13)
        package static let readError = Failure(code: 266)
        package static let writeError = Failure(code: 778)
        package static let syncError = Failure(code: 1034)
        package static let readOnly = Failure(code: 8)
        package static let busy = Failure(code: 5)
        /// At that call and from then on nothing works, until ``FaultyDisk/restorePower(seed:)``.
        package static let powerCut = Failure(code: FAULTY_POWER_CUT)
    }

    /// The disk could not be made, or the power not restored: SQLite's result code, 21 when a file is still open.
    package struct Misuse: Error {
        package let code: Int32
    }

    /// Sendable: a constant, and the disk behind it has a mutex of its own.
    nonisolated(unsafe) private let disk: OpaquePointer

    /// - Parameter database: the path of the file, which need not be there; its folder must be.
    package init(database: String) throws(Misuse) {
        guard let disk = unsafe faulty_disk_attach(database) else { throw Misuse(code: 14) }
        unsafe self.disk = disk
    }

    deinit { unsafe faulty_disk_detach(disk) }

    /// Lets calls of those operations fail, in place of what was set before.
    ///
    /// - Parameters:
    ///   - first: the number of the first call that fails, counted from 1 from now on.
    ///   - count: how many fail; without it all from then on.
    package func fail(_ operations: Operations, with failure: Failure, first: Int = 1, count: Int = .max) {
        unsafe faulty_disk_fail(disk, UInt32(operations.rawValue), UInt64(first), UInt64(count), failure.code)
    }

    /// Lets everything succeed again, as long as there is power.
    package func heal() { unsafe faulty_disk_heal(disk) }

    /// Calls that have failed since ``fail(_:with:first:count:)``.
    package var failureCount: Int { Int(unsafe faulty_disk_failure_count(disk)) }

    /// Cuts the power now.
    package func cutPower() { unsafe faulty_disk_cut_power(disk) }

    /// Once all files are closed: leaves in them what was synced before the cut, and lets them work again.
    ///
    /// - Parameter seed: decides which of the unsynced 4-KiB pages were kept all the same; with 0 none was.
    package func restorePower(seed: UInt64 = 0) throws(Misuse) {
        let code = unsafe faulty_disk_restore_power(disk, seed)
        guard code == 0 else { throw Misuse(code: code) }
    }
}
