import Foundation
import ServerFiles
import Store
import TestSupport
import Testing

/// A start without the database that a server has used.
@Suite(.safetyNet) struct DatabaseMarkTests {
    private let folder: TemporaryFolder
    private let files: ServerFiles

    init() throws {
        folder = try TemporaryFolder()
        files = ServerFiles(
            identityKeyFile: folder.path("identity.key"), sealingKeyFile: folder.path("sealing.key"),
            database: .sqlite(path: folder.path("push.sqlite")))
    }

    private func start() async throws {
        let use = DatabaseUse(
            serverName: "one", serverPartFile: folder.path("part"), version: "1", maximumQueueCount: 1, maximumStoredByteCount: nil,
            namedBundleIDs: [])
        try await files.withOpen(for: use, logger: quietLogger) { _, store in try await store.probe() }
    }

    @Test(arguments: [false, true]) func `is refused, until the file is back or the mark is removed`(isEmpty: Bool) async throws {
        try await start()
        try await start()
        let path = folder.path("push.sqlite")
        try FileManager.default.moveItem(atPath: path, toPath: path + ".away")
        if isEmpty { try Data().write(to: URL(filePath: path)) }
        for _ in 1...2 {
            let error = await #expect(throws: LostDatabaseError.self) { try await start() }
            #expect(error?.description.contains("\(path) is gone") == true && error?.description.contains("\(path).mark") == true)
            #expect(FileManager.default.fileExists(atPath: path) == isEmpty)
        }
        try? FileManager.default.removeItem(atPath: path)
        try FileManager.default.moveItem(atPath: path + ".away", toPath: path)
        try await start()
        // A new server, with the same keys.
        try FileManager.default.removeItem(atPath: path)
        try FileManager.default.removeItem(atPath: path + ".mark")
        try await start()
    }

    @Test func `is a first start if the mark names another database`() async throws {
        try await start()
        let path = folder.path("push.sqlite")
        try "/elsewhere/push.sqlite\n0x02\n".write(toFile: path + ".mark", atomically: false, encoding: .utf8)
        try FileManager.default.removeItem(atPath: path)
        try await start()
    }
}

/// Copies in clear beside a database.
@Suite(.safetyNet) struct PlainCopyFolderTests {
    @Test func `what killed processes have left is removed, and what others use stays`() throws {
        let folder = try TemporaryFolder()
        let database = folder.path("push.sqlite")
        try Data([1]).write(to: URL(filePath: database))
        let names = [".restored", ".imported", ".import-source", ".migrating"].flatMap { suffix in
            ["", "-wal", "-shm", "-journal"].map { database + suffix + $0 }
        }
        for name in names { try Data([1]).write(to: URL(filePath: name)) }
        let used = try PlainCopyFolder(besideDatabase: database)
        try Data([1]).write(to: URL(filePath: used.path + "/copy"))
        var killed: PlainCopyFolder? = try PlainCopyFolder(besideDatabase: database)
        let left = try #require(killed).path
        try Data([1]).write(to: URL(filePath: left + "/copy"))
        // The lock of a killed process ends.
        killed = nil
        let log = LogLines()
        PlainCopyFolder.removeLeftovers(besideDatabase: database, logger: log.logger)
        #expect(!FileManager.default.fileExists(atPath: left))
        for name in names { #expect(!FileManager.default.fileExists(atPath: name), "\(name)") }
        #expect(FileManager.default.fileExists(atPath: used.path + "/copy") && FileManager.default.fileExists(atPath: database))
        #expect(log.all.count == 1 + names.count && log.all.allSatisfy { $0.contains("removed a copy in clear") }, "\(log.all)")
        used.remove()
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.url.path()) == ["push.sqlite"])
    }
}
