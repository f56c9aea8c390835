import Envelope
import Foundation
import GRDB
import Logging
import PushProtocol
import StatusCrypto
import TestSupport
import Testing
import Wire

@testable import Store

/// A fixed course of events in the life of a store that writes all it can write, one commit a step.
struct StoreScript {
    enum Step: Sendable {
        /// Closes the store, if there is one, and opens it.
        case open
        case write(@Sendable (PushStore) async throws -> Void)
    }

    /// Syncs of the log at every commit, as the store is opened with, or at checkpoints only.
    enum Synchronous: String { case full, normal }

    var synchronous = Synchronous.full

    static let steps: [Step] = [
        .open,
        .write { store in
            _ = try await store.record((1...3).map { (hash($0), envelope($0)) }, at: start)
        },
        .write { store in
            try await store.commit { transaction throws in
                try transaction.register(registration(), topics: topics, at: start)
                try transaction.settle(1, as: .answered(reply(1)), at: start)
            }
        },
        .write { store in
            try await store.commit { transaction throws in
                var large = registration(version: 2)
                // Some pages, and so a commit of some writes.
                large.content.allowedKeyList = (0..<100).map { [UInt8](repeating: $0, count: 100) }
                try transaction.register(large, topics: topics, at: start)
                try transaction.settle(2, as: .answered(reply(2)), at: start)
            }
        },
        .write { try await $0.saveTopicKey(FixedBytes(repeating: 4), keyHash: installation().keyHash, prefixed: true) },
        .write { store in
            try await store.commit { transaction throws in
                try transaction.register(registration(installation(2)), topics: topics, at: start)
                try transaction.settle(3, as: .silent, at: start)
            }
        },
        .write { store in try await store.commit { try $0.markReplied([1, 2]) } },
        .open,
        .write { store in
            _ = try await store.record((4...6).map { (hash($0), envelope($0)) }, at: start)
        },
        .write { store in
            try await store.commit { transaction throws in
                for number in 1...3 { try transaction.enqueue(push(number), message: 4, at: start) }
                try transaction.settle(4, as: .answered(reply(4, status: hash(4))), at: start)
            }
        },
        .write { store in
            try await store.commit { transaction throws in
                try transaction.unregister(installation(), version: 3, plaintextDigest: hash(3), at: start)
                try transaction.settle(5, as: .answered(reply(5)), at: start)
            }
        },
        .write { store in
            let routes: Set = [RouteAssignment(tokenType: .apn, apnTopic: "", route: "ios")]
            _ = try await store.takeOverOutbox(routes: routes, latest: start)
        },
        .write { store in
            try await store.commit { _ = try $0.lease([(1, hash(11)), (2, hash(12)), (3, hash(13))], at: start) }
        },
        .write { store in
            try await store.commit { transaction throws in
                try transaction.finish([1], as: .sent, at: start)
                try transaction.postpone(2, until: start.advanced(by: .seconds(10)), isUnknown: true)
                try transaction.release(3, to: .queued)
            }
        },
        .write { store in
            try await store.commit { transaction throws in
                let attempt = start.advanced(by: .seconds(1))
                try transaction.suspect(hash(14), at: attempt)
                try transaction.bury(
                    "device token 1", type: .apn, registeredBefore: attempt, reason: "Unregistered", route: "ios", at: attempt)
                try transaction.finish([2], as: .deadToken, at: attempt)
            }
        },
        .open,
        .write { _ = try await $0.prune(at: start.advanced(by: PushStore.retention + .seconds(1))) },
    ]

    /// Opens the store with checkpoints between the steps.
    func open(_ folder: TemporaryFolder) async throws -> PushStore {
        // What goes wrong is expected here, and goes wrong often.
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        let store = try PushStore(path: folder.database, identity: identity, logger: logger)
        do {
            try await store.pool.writeWithoutTransaction { database in
                try database.execute(sql: "PRAGMA wal_autocheckpoint = 8")
                if synchronous == .normal { try database.execute(sql: "PRAGMA synchronous = NORMAL") }
            }
            return store
        } catch {
            await store.close()
            throw StoreError(error)
        }
    }

    /// - Returns: the store to go on with.
    func perform(_ step: Step, on store: PushStore?, in folder: TemporaryFolder) async throws -> PushStore {
        if case .write(let write) = step, let store {
            try await write(store)
            return store
        }
        await store?.close()
        return try await open(folder)
    }
}

/// The script just before one of its steps, as a copy of the files: a test of that step need not go through those before.
struct StoreScene: Sendable {
    /// Which step is next.
    var number: Int
    /// What the database holds.
    var contents: StoreContents
    /// As a killed process leaves them, with the log: by the ends of their names. None before the first step.
    private var files: [String: Data] = [:]

    /// Before each step, and after the last.
    static let all = Task {
        let script = StoreScript()
        let folder = try TemporaryFolder()
        var store: PushStore?
        var scenes: [StoreScene] = []
        for (number, step) in StoreScript.steps.enumerated() {
            let open = try await script.perform(step, on: store, in: folder)
            store = open
            var scene = StoreScene(number: number + 1, contents: try await open.contents())
            if scenes.isEmpty { scenes.append(StoreScene(number: 0, contents: scene.contents)) }
            for suffix in ["", "-wal"] { scene.files[suffix] = try Data(contentsOf: URL(filePath: folder.database + suffix)) }
            scenes.append(scene)
        }
        await store?.close()
        return scenes
    }

    /// Whether the database is there.
    var isSetUp: Bool { !files.isEmpty }

    func makeFolder() throws -> TemporaryFolder {
        let folder = try TemporaryFolder()
        for (suffix, data) in files { try data.write(to: URL(filePath: folder.database + suffix)) }
        return folder
    }
}

/// Which calls of a step are made to fail, until there are no more: the first and a sample, or with `DISK_FAULT_TEST=all`, which
/// `Scripts/disk-fault-test` sets, each in turn.
struct FailingCalls: Sequence, IteratorProtocol {
    static let areAll = ProcessInfo.processInfo.environment["DISK_FAULT_TEST"] == "all"

    private var call = 0

    mutating func next() -> Int? {
        call = Self.areAll ? call + 1 : 3 * call + 1
        return call
    }
}

/// All rows of all tables, in the order of their rows, by the name of the table.
typealias StoreContents = [String: [[DatabaseValue]]]

extension PushStore {
    func contents() async throws -> StoreContents {
        try await read { database in
            var contents: StoreContents = [:]
            for table in try String.fetchAll(database, sql: "SELECT name FROM sqlite_schema WHERE type = 'table'") {
                contents[table] = try Row.fetchAll(database, sql: "SELECT * FROM \(table)").map { Array($0.databaseValues) }
            }
            return contents
        }
    }

    /// Whether SQLite finds all of the file in order.
    func isIntact() async throws -> Bool {
        try await read { try String.fetchAll($0, sql: "PRAGMA integrity_check") == ["ok"] }
    }
}
