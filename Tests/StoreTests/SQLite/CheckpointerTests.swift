import Bytes
import Envelope
import Foundation
import SQLiteStore
import Store
import TestSupport
import Testing
import Wire

@Suite(.safetyNet)
struct CheckpointerTests {
    /// The WAL restarts only when the database contains all of it. Copies during the writer's work alone never reach that state.
    @Test func `the WAL restarts while the store is written without a pause`() async throws {
        let folder = try TemporaryFolder()
        let store = try folder.open()
        do {
            let log = folder.database + "-wal"
            try await withThrowingTaskGroup(of: Void.self) { writers in
                for writer in 1...3 {
                    writers.addTask {
                        var number = 1_000_000 * writer
                        while try Self.sequenceNumber(ofLogAt: log) < 3 {
                            number += 1
                            var envelope = envelope(number)
                            envelope.message.payload = [UInt8](repeating: 7, count: 200_000)
                            _ = try await store.record([(hash(number), envelope)], at: start)
                        }
                    }
                }
                try await writers.waitForAll()
            }
            let count = try await store.unfinishedRows().undecided.count
            await store.close()
            let again = try folder.open()
            #expect(try await again.unfinishedRows().undecided.count == count)
            await again.close()
        }
    }

    /// Returns the number of times that the WAL has restarted (https://www.sqlite.org/fileformat2.html#the_write_ahead_log).
    private static func sequenceNumber(ofLogAt path: String) throws -> UInt32 {
        let file = try FileHandle(forReadingFrom: URL(filePath: path))
        defer { try? file.close() }
        let header = try file.read(upToCount: 16) ?? Data()
        return header.count < 16 ? 0 : header[12..<16].reduce(0) { $0 << 8 | UInt32($1) }
    }
}
