import Foundation
import GRDB
import PushProtocol
import Store
import TestSupport
import Testing

@testable import SQLiteStore

/// The database's file is moved, replaced or deleted under the running server.
@Suite(.safetyNet) struct LostFileTests {
    enum Loss: CaseIterable, Sendable {
        case moved, replaced, deleted, logDeleted, logReplaced
    }

    @Test(arguments: Loss.allCases)
    func `nothing more is answered with success, until the file is opened again`(loss: Loss) async throws {
        let folder = try TemporaryFolder()
        let store = try folder.open()
        try await store.register(registration(installation(1)))
        try store.checkFile()
        let files = FileManager.default
        let (path, log, other) = (folder.database, folder.database + "-wal", folder.path("other"))
        switch loss {
        case .moved: try files.moveItem(atPath: path, toPath: other)
        case .replaced:
            try files.moveItem(atPath: path, toPath: other)
            try files.copyItem(atPath: other, toPath: path)
        case .deleted: try files.removeItem(atPath: path)
        case .logDeleted: try files.removeItem(atPath: log)
        case .logReplaced:
            try files.moveItem(atPath: log, toPath: other)
            try files.copyItem(atPath: other, toPath: log)
        }
        let lost = StoreError.fileLost(path: [.logDeleted, .logReplaced].contains(loss) ? log : path)
        #expect(lost.isOfWholeStore && !lost.isConfigurationFault)
        #expect(throws: lost) { try store.checkFile() }
        await #expect(throws: lost) { try await store.register(registration(installation(2))) }
        await #expect(throws: lost) { try await store.probe() }
        // A file that is put back may miss what others have changed meanwhile.
        if loss == .moved {
            try files.moveItem(atPath: other, toPath: path)
            await #expect(throws: lost) { try await store.probe() }
            await store.close()
            let again = try folder.open()
            #expect(try await again.version(of: installation(1))?.isRegistered == true)
            #expect(try await again.version(of: installation(2)) == nil)
            await again.close()
        } else {
            await store.close()
        }
    }

    @Test func `a write that was committed before the file was found lost is not answered with success`() async throws {
        let folder = try TemporaryFolder()
        let store = try folder.open()
        try await store.register(registration(installation(1)))
        let path = folder.database
        await #expect(throws: StoreError.fileLost(path: path)) {
            try await store.queue.perform { transaction in
                try transaction.database.execute(sql: "DELETE FROM probe")
                try FileManager.default.moveItem(atPath: path, toPath: path + ".away")
            }
        }
        await store.close()
    }
}
