import GRDB
import TestSupport
import Testing

/// The behaviour of the simulated disk that the other tests of this folder rely on.
@Suite(.safetyNet) struct FaultyDiskTests {
    private let folder: TemporaryFolder
    private let disk: FaultyDisk

    init() throws {
        folder = try TemporaryFolder()
        disk = try FaultyDisk(database: folder.database)
    }

    private func open(synchronous: String) throws -> DatabaseQueue {
        var configuration = Configuration()
        configuration.journalMode = .wal
        let queue = try DatabaseQueue(path: folder.database, configuration: configuration)
        try queue.writeWithoutTransaction { try $0.execute(sql: "PRAGMA synchronous = \(synchronous)") }
        return queue
    }

    private func tablesAfterPowerCut() throws -> [String] {
        disk.cutPower()
        try disk.restorePower()
        return try DatabaseQueue(path: folder.database).read {
            try String.fetchAll($0, sql: "SELECT name FROM sqlite_schema ORDER BY name")
        }
    }

    @Test(arguments: [("FULL", ["a", "b"]), ("NORMAL", ["a"])])
    func `a power cut keeps synced writes`(synchronous: String, expected: [String]) throws {
        let queue = try open(synchronous: synchronous)
        try queue.write { try $0.create(table: "a") { $0.column("x") } }
        try queue.writeWithoutTransaction { _ = try $0.checkpoint(.full) }
        try queue.write { try $0.create(table: "b") { $0.column("x") } }
        disk.cutPower()
        try queue.close()
        #expect(try tablesAfterPowerCut() == expected)
    }

    @Test func `writes that a failed sync lost are not saved by a later sync`() throws {
        let queue = try open(synchronous: "NORMAL")
        try queue.write { try $0.create(table: "a") { $0.column("x") } }
        disk.fail(.sync, with: .syncError, count: 1)
        #expect(throws: DatabaseError.self) { try queue.writeWithoutTransaction { _ = try $0.checkpoint(.full) } }
        try queue.writeWithoutTransaction { try $0.execute(sql: "PRAGMA synchronous = FULL") }
        try queue.write { try $0.create(table: "b") { $0.column("x") } }
        disk.cutPower()
        try queue.close()
        // The disk had synced "b", but behind a hole in the WAL.
        #expect(try tablesAfterPowerCut() == [])
    }

    @Test func `the power of a disk cannot be restored while a file is open`() throws {
        let queue = try open(synchronous: "FULL")
        try queue.write { try $0.create(table: "b") { $0.column("x") } }
        disk.cutPower()
        #expect(throws: FaultyDisk.Misuse.self) { try disk.restorePower() }
        #expect(throws: DatabaseError.self) { try queue.write { try $0.create(table: "a") { $0.column("x") } } }
        try queue.close()
        try disk.restorePower()
    }
}
