import Bytes
import Foundation
import GRDB
import SQLiteStore
import ServerFiles
import StatusCrypto
import TestSupport
import Testing

@testable import Operator

/// What an old database has left where a command puts a new one. SQLite would take a log or a journal for the new database's own.
@Suite(.fewAtATime) struct LeftoverFileTests {
    enum Command: CaseIterable, Sendable { case restore, statusGoImport }

    private let folder: TemporaryFolder
    private let paths: ServerPaths
    private let key: PrivateKey

    init() throws {
        folder = try TemporaryFolder()
        var paths = ServerPaths(environment: ["STATE_DIRECTORY": folder.path("")])
        try folder.write(String(repeating: "07", count: 32), to: "identity.key")
        try folder.write(testSealingKeyFile, to: "sealing.key")
        (paths.keyFile, paths.sealingKeyFile) = (folder.path("identity.key"), folder.path("sealing.key"))
        paths.database = folder.path("push.sqlite")
        self.paths = paths
        key = try PrivateKey(FixedBytes(repeating: 7))
    }

    private func run(_ command: Command) async throws {
        switch command {
        case .restore: _ = try await RestoreReport(restoring: folder.path("source"), identityFile: nil, to: paths) { _ in }
        case .statusGoImport:
            _ = try await StatusGoImportReport(importing: folder.path("source"), givenKeyFile: paths.keyFile, to: paths) { _ in }
        }
    }

    /// Writes a backup of a database of the server.
    private func writeBackup() async throws {
        let original = folder.path("original.sqlite")
        let store = try SQLiteStore(
            path: original, identity: key.publicKey.compressed, sealingKeys: testSealingKeys, logger: quietLogger)
        try await store.probe()
        await store.close()
        try await DatabaseBackup(of: original, recipients: []).write(to: folder.path("source"))
    }

    @Test(arguments: Command.allCases, ["", "-wal", "-journal"])
    func `a command puts no database beside what an old one has left`(command: Command, suffix: String) async throws {
        try await writeBackup()
        let place = paths.database + suffix
        try folder.write("left", to: "push.sqlite" + suffix)
        let failure = await #expect(throws: Failure.self) { try await run(command) }
        #expect(failure?.message.contains("\(place) already exists") == true, "\(failure?.message ?? "")")
        #expect(try String(contentsOfFile: place, encoding: .utf8) == "left")
        #expect(suffix.isEmpty || !FileManager.default.fileExists(atPath: paths.database))
    }

    @Test func `a database is restored into a folder whose name a URL would write otherwise`() async throws {
        try await writeBackup()
        let state = folder.path("a folder ü%")
        try FileManager.default.createDirectory(atPath: state, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
        var paths = paths
        paths.database = state + "/push.sqlite"
        _ = try await RestoreReport(restoring: folder.path("source"), identityFile: nil, to: paths) { _ in }
        #expect(try SQLiteStore.identity(ofDatabaseAt: paths.database) == key.publicKey.compressed)
    }

    @Test func `a restored database is complete, and has no log or index of another one`() async throws {
        try await writeBackup()
        try folder.write("left", to: "push.sqlite-shm")
        try await run(.restore)
        let count = try await DatabaseQueue(path: paths.database).read { try Int.fetchOne($0, sql: "SELECT count FROM probe") }
        #expect(count == 1)
    }
}
