import Bytes
import Envelope
import Foundation
import GRDB
import Logging
import SQLiteStore
import TestSupport
import Testing

@testable import ServerFiles

@Suite(.fewAtATime)
struct DatabaseBackupTests {
    private static let identity = FixedBytes<33>(repeating: 2)
    private let folder: TemporaryFolder
    private let store: SQLiteStore

    init() throws {
        folder = try TemporaryFolder()
        store = try SQLiteStore(
            path: folder.path("push.sqlite"), identity: Self.identity, sealingKeys: testSealingKeys, logger: quietLogger)
    }

    private func names() throws -> Set<String> {
        Set(try FileManager.default.contentsOfDirectory(atPath: folder.path("")))
    }

    private static var recipient: AgeRecipient {
        get throws { try #require(AgeRecipient("age1tt7gmlychs2nh7qllhuks2d4gp5fff0thzfwrd24v5atjqprrgxqgc26ha")) }
    }

    private static let databaseFiles: Set = ["push.sqlite", "push.sqlite-wal", "push.sqlite-shm"]

    @Test func `a plain backup is a database of mode 0600, and no other file is left`() async throws {
        try await store.probe()
        try await DatabaseBackup(of: folder.path("push.sqlite"), recipients: []).write(to: folder.path("copy"))
        #expect(try names() == Self.databaseFiles.union(["copy"]))
        let mode = try FileManager.default.attributesOfItem(atPath: folder.path("copy"))[.posixPermissions] as? Int
        #expect(mode == 0o600)
        let count = try await DatabaseQueue(path: folder.path("copy")).read { try Int.fetchOne($0, sql: "SELECT count FROM probe") }
        #expect(count == 1)
        await store.close()
    }

    @Test func `a backup replaces no file`() async throws {
        try folder.write("mine", to: "copy")
        let error = await #expect(throws: BackupError.self) {
            try await DatabaseBackup(of: folder.path("push.sqlite"), recipients: []).write(to: folder.path("copy"))
        }
        #expect(error?.description == "\(folder.path("copy")) already exists; choose another name")
        #expect(try String(contentsOfFile: folder.path("copy"), encoding: .utf8) == "mine")
        await store.close()
    }

    @Test(arguments: [false, true]) func `a damaged database gives no backup and leaves no file`(isEncrypted: Bool) async throws {
        await store.close()
        let recipients = isEncrypted ? [try Self.recipient] : []
        let backup = DatabaseBackup(of: folder.path("push.sqlite"), recipients: recipients)
        try await backup.write(to: folder.path("whole"))
        #expect(try names().subtracting(Self.databaseFiles) == ["whole"])
        let file = try FileHandle(forUpdating: URL(filePath: folder.path("push.sqlite")))
        let byteCount = try file.seekToEnd()
        try file.seek(toOffset: 4_096)
        try file.write(contentsOf: Data(repeating: 0xA5, count: Int(byteCount) - 4_096))
        try file.close()
        await #expect(throws: BackupError.self) { try await backup.write(to: folder.path("copy")) }
        #expect(try names().subtracting(Self.databaseFiles) == ["whole"])
    }

    @Test(arguments: [(false, "copying"), (true, "copying"), (true, "encrypting")])
    func `a cancelled backup ends and leaves no file`(isEncrypted: Bool, cancelled: String) async throws {
        let (database, place) = (folder.path("push.sqlite"), folder.path("copy"))
        let recipients = isEncrypted ? [try Self.recipient] : []
        let task = Task {
            try await DatabaseBackup(of: database, recipients: recipients).write(
                to: place,
                filling: { step, _, _, work in
                    if step == cancelled { unsafe withUnsafeCurrentTask { unsafe $0?.cancel() } }
                    try await work()
                })
        }
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(try names() == Self.databaseFiles)
        await store.close()
    }

    @Test func `a lack of space is detected before the backup, which needs twice the space with a plain copy on the same disk`() throws {
        let free = Int(try #require(DiskSpace(ofFile: folder.path(""))).free)
        #expect(throws: BackupError.self) { try BackupSpace.check(byteCount: 2 * free, place: folder.path(""), plainCopy: nil) }
        try BackupSpace.check(byteCount: free / 3 * 2, place: folder.path(""), plainCopy: nil)
        #expect(throws: BackupError.self) {
            try BackupSpace.check(byteCount: free / 3 * 2, place: folder.path(""), plainCopy: folder.path(""))
        }
        let error = BackupError.diskFull(path: "/backups", needed: 5 << 30, free: 3 << 30)
        #expect(error.description == "the backup needs 5120 MiB, and the disk of /backups has 3072 MiB free")
    }
}
