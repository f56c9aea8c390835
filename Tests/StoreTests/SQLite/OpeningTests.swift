import Bytes
import Foundation
import GRDB
import GRDBSQLite
import Logging
import Store
import TestSupport
import Testing

@testable import SQLiteStore

@Suite(.safetyNet)
struct OpeningTests {
    @Test func `the writer syncs the WAL at every commit`() async throws {
        try await withSQLiteStore { store in
            let settings = try await store.queue.perform { transaction in
                let database = transaction.database
                return (
                    synchronous: try Int.fetchOne(database, sql: "PRAGMA synchronous"),
                    secureDelete: try Int.fetchOne(database, sql: "PRAGMA secure_delete"),
                    journalMode: try String.fetchOne(database, sql: "PRAGMA journal_mode")
                )
            }
            #expect(settings.synchronous == 2)
            #expect(settings.secureDelete == 2)  // FAST
            #expect(settings.journalMode == "wal")
        }
    }

    @Test func `only the server's user may read the files`() async throws {
        let folder = try TemporaryFolder()
        let store = try folder.open()
        do {
            try await store.register(registration())
            let files = try FileManager.default.contentsOfDirectory(atPath: folder.url.path())
            #expect(files.sorted() == ["push.sqlite", "push.sqlite-shm", "push.sqlite-wal"])
            for file in files { #expect(try mode(of: folder.url.appending(path: file)) == 0o600) }
        }
        await store.close()
    }

    @Test func `a missing folder is created for the server's user only, and the mode of an existing file becomes 0600`() async throws {
        let folder = try TemporaryFolder()
        let file = folder.url.appending(path: "a/b/push.sqlite")
        try await SQLiteStore(path: file.path(), identity: identity, sealingKeys: sealingKeys(1), logger: quietLogger).close()
        #expect(try mode(of: file.deletingLastPathComponent()) == 0o700)

        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: file.path())
        try await SQLiteStore(path: file.path(), identity: identity, sealingKeys: sealingKeys(1), logger: quietLogger).close()
        #expect(try mode(of: file) == 0o600)
    }

    @Test func `a folder that cannot be created is a configuration fault`() throws {
        let error = try #require(throws: StoreError.self) {
            try SQLiteStore(path: "/dev/null/push.sqlite", identity: identity, sealingKeys: sealingKeys(1), logger: quietLogger)
        }
        #expect(error.isConfigurationFault)
    }

    @Test(arguments: [(ENOSPC, false), (EDQUOT, false), (EROFS, false), (EIO, false), (EACCES, true), (ENOTDIR, true)] as [(Int32, Bool)])
    func `a disk that is full or read-only for the moment is no configuration fault`(errno: Int32, isFault: Bool) {
        #expect(StoreError.inaccessible(errno: errno).isConfigurationFault == isFault)
    }

    @Test func `a fault of the file system has a name`() {
        #expect("\(StoreError(code: 6_410))".contains("mount a tmpfs at /tmp, or set SQLITE_TMPDIR"))
        #expect("\(StoreError(code: 778))".contains("the file cannot be written (778)"))
        #expect("\(StoreError(code: 13))".contains("database or disk is full (13)"))
    }

    @Test(arguments: [false, true])
    func `the database of another identity is refused`(readOnly: Bool) async throws {
        let folder = try TemporaryFolder()
        try await folder.open().close()
        #expect(throws: StoreError.otherIdentity) { try folder.open(identity: FixedBytes(repeating: 3), readOnly: readOnly) }
        try await folder.open(readOnly: readOnly).close()
    }

    @Test(
        arguments: [false, true],
        ["INSERT INTO grdb_migrations VALUES ('2')", "UPDATE grdb_migrations SET identifier = '1' WHERE identifier = '0.1.0'"])
    func `a database of another version is refused`(readOnly: Bool, change: String) async throws {
        let folder = try TemporaryFolder()
        try await folder.open().close()
        try edit(folder.database) { try $0.execute(sql: change) }
        #expect(throws: StoreError.unknownSchema) { try folder.open(readOnly: readOnly) }
    }

    @Test func `the database of another program is refused and left as it was`() async throws {
        let folder = try TemporaryFolder()
        try edit(folder.database) { try $0.execute(sql: "CREATE TABLE recipe (id INTEGER PRIMARY KEY)") }
        let before = try Data(contentsOf: URL(filePath: folder.database))
        #expect(throws: StoreError.notADatabase) { try folder.open() }
        #expect(try Data(contentsOf: URL(filePath: folder.database)) == before)
    }

    @Test func `a file that is not a database is refused`() throws {
        let folder = try TemporaryFolder()
        try Data(repeating: 0x41, count: 8_192).write(to: URL(filePath: folder.database))
        #expect(throws: StoreError.notADatabase) { try folder.open() }
    }

    @Test func `a start that was killed before the first migration starts over`() async throws {
        let folder = try TemporaryFolder()
        try edit(folder.database) { try $0.execute(sql: "CREATE TABLE grdb_migrations (identifier TEXT NOT NULL PRIMARY KEY)") }
        let store = try folder.open()
        try await store.register(registration())
        await store.close()
    }

    @Test func `a tool neither creates a database nor writes to it`() async throws {
        let folder = try TemporaryFolder()
        #expect(throws: StoreError.notSetUp) { try folder.open(readOnly: true) }
        #expect(!FileManager.default.fileExists(atPath: folder.database))

        let server = try folder.open()
        try await server.register(registration())
        let tool = try folder.open(readOnly: true)
        #expect(try await tool.registrationCount() == 1)
        await #expect(throws: StoreError.self) { try await tool.register(registration()) }
        await tool.close()
        await server.close()
    }

    @Test func `a closed store rejects writes and has copied its WAL into the database`() async throws {
        let folder = try TemporaryFolder()
        let store = try folder.open()
        try await store.register(registration())
        await store.close()
        await store.close()
        await #expect(throws: StoreError.closed) { try await store.register(registration(version: 2)) }
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.url.path()) == ["push.sqlite"])
    }

    @Test func `no error text contains a stored value`() async throws {
        try await withSQLiteStore { store in
            let error = await #expect(throws: StoreError.self) {
                try await store.queue.perform { transaction throws in
                    try transaction.database.run(
                        "INSERT INTO identity (id, public_key) VALUES (?, ?)", 2, Array("secret".utf8))
                }
            }
            #expect(error == StoreError(code: 275))  // SQLITE_CONSTRAINT_CHECK
            #expect(!String(describing: error).contains("secret"))
        }
    }

    private func mode(of file: URL) throws -> Int? {
        try FileManager.default.attributesOfItem(atPath: file.path())[.posixPermissions] as? Int
    }

    private func edit(_ path: String, _ body: (Database) throws -> Void) throws {
        let queue = try DatabaseQueue(path: path)
        try queue.write(body)
        try queue.close()
    }
}
