import Bytes
import Envelope
import Foundation
import GRDB
import SQLiteStore
import Store
import TestSupport
import Testing
import Wire

@Suite(.safetyNet)
struct CheckpointerTests {
    /// A copy beside the writer cannot copy what a reader holds back, or what is written meanwhile. The writer copies that rest itself, or
    /// the WAL of a busy server would never restart.
    @Test func `the WAL restarts after a copy that left a rest`() async throws {
        let folder = try TemporaryFolder()
        let store = try folder.open()
        let log = WriteAheadLog(database: folder.database)
        _ = try await store.record(1)
        var configuration = Configuration()
        configuration.allowsUnsafeTransactions = true
        let reader = try DatabaseQueue(path: folder.database, configuration: configuration)
        try await reader.writeWithoutTransaction { try $0.execute(sql: "BEGIN; SELECT count(*) FROM message") }
        let readCount = try log.pageCount
        #expect(try log.copiedPageCount < readCount)
        // More pages than the WAL has between two checkpoints.
        _ = try await store.record((2...60).map { (hash($0), Self.envelope($0, byteCount: 200_000)) }, at: start)
        try await FolderWatch(folder.path("")).wait { try log.copiedPageCount == readCount }
        try await reader.writeWithoutTransaction { try $0.execute(sql: "ROLLBACK") }
        try reader.close()

        let restartCount = try log.restartCount
        // So few pages begin no other checkpoint.
        for number in 61...300 where try log.restartCount == restartCount { _ = try await store.record(number) }
        #expect(try log.restartCount > restartCount)
        await store.close()
    }

    private static func envelope(_ number: Int, byteCount: Int) -> WakuEnvelope {
        var envelope = StoreTests.envelope(number)
        envelope.message.payload = [UInt8](repeating: 7, count: byteCount)
        return envelope
    }
}

/// What a database's WAL and its index say of themselves (https://www.sqlite.org/walformat.html).
private struct WriteAheadLog {
    let database: String

    /// The number of times that the WAL has restarted.
    var restartCount: UInt32 { get throws { try word(at: 12, of: "-wal", isBigEndian: true) } }

    /// The number of pages in the WAL.
    var pageCount: UInt32 { get throws { try word(at: 16, of: "-shm") } }

    /// How many of these are copied into the database.
    var copiedPageCount: UInt32 { get throws { try word(at: 96, of: "-shm") } }

    private func word(at offset: UInt64, of suffix: String, isBigEndian: Bool = false) throws -> UInt32 {
        let file = try FileHandle(forReadingFrom: URL(filePath: database + suffix))
        defer { try? file.close() }
        try file.seek(toOffset: offset)
        let bytes = try file.read(upToCount: 4) ?? Data()
        return (isBigEndian ? Array(bytes) : bytes.reversed()).reduce(0) { $0 << 8 | UInt32($1) }
    }
}
