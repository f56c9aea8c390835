import Bytes
import Envelope
import Foundation
import GRDB
import PushProtocol
import ServerCrypto
import StatusCrypto
import Store
import TestSupport
import Testing
import Wire

@testable import SQLiteStore

/// A fixed sequence of events in the life of a store, with each kind of write and one commit a step.
struct StoreScript {
    enum Step: Sendable {
        /// The step closes the store, if one is open, and opens it.
        case open
        case write(@Sendable (SQLiteStore) async throws -> Void)
    }

    /// The time of WAL syncs: at every commit, which is the store's own mode, or at checkpoints only.
    enum Synchronous: String { case full, normal }

    var synchronous = Synchronous.full
    var identity = StoreTests.identity
    var sealingKeys: SealingKeys? = StoreTests.sealingKeys(1)

    static let steps: [Step] = [
        .open,
        .write { store in
            _ = try await store.record((1...3).map { (hash($0), envelope($0)) }, at: start)
        },
        .write { store in
            try await store.apply(at: start) { batch in
                batch.register(registration(), topics: topics)
                batch.decide(1, as: .answered(reply(1)))
            }
        },
        .write { store in
            try await store.apply(at: start) { batch in
                var large = registration(version: 2)
                // The registration fills several pages, so that its commit makes several writes.
                large.content.allowedKeyList = (0..<100).map { [UInt8](repeating: $0, count: 100) }
                batch.register(large, topics: topics)
                batch.decide(2, as: .answered(reply(2)))
            }
        },
        .write { try await $0.saveTopicKey(FixedBytes(repeating: 4), keyHash: installation().keyHash, prefixed: true) },
        .write { store in
            try await store.apply(at: start) { batch in
                batch.register(registration(installation(2)), topics: topics)
                batch.decide(3, as: .silent)
            }
        },
        .write { store in try await store.apply(at: start) { $0.markPublished([1, 2]) } },
        .open,
        .write { store in
            _ = try await store.record((4...6).map { (hash($0), envelope($0)) }, at: start)
        },
        .write { store in
            try await store.apply(at: start) { batch in
                // The last push's device unregisters before the post.
                for number in [2, 3, 4, 1] { batch.enqueue(push(number), message: 4) }
                batch.decide(4, as: .answered(reply(4, status: hash(4))))
            }
        },
        .write { store in
            try await store.apply(at: start) { batch in
                batch.unregister(installation(), version: 3, plaintextDigest: hash(3), topics: topics)
                batch.decide(5, as: .answered(reply(5)))
            }
        },
        .write { store in
            let routes: Set = [RouteAssignment(tokenType: .apn, apnTopic: "", route: "ios")]
            _ = try await store.takeOverOutbox(routes: routes, latest: start)
        },
        .write { store in _ = try await store.mark([1, 2, 3], until: start.advanced(by: .seconds(150))) },
        .write { store in
            var update = OutboxUpdate()
            update.pushes = [
                .init(id: 1, .finish(.sent)),
                .init(id: 2, .retry(at: start.advanced(by: .seconds(10)), isUnknown: true)),
                .init(id: 3, .release(.queued)),
            ]
            _ = try await store.update(update, at: start)
        },
        .write { store in
            let attempt = start.advanced(by: .seconds(1))
            var update = OutboxUpdate()
            update.pushes = [.init(id: 2, .finish(.deadToken))]
            update.tokens = [
                .suspect(hash(14), Suspicion(since: attempt, refusedAt: attempt), route: "ios"),
                .unregister(
                    DeadToken(
                        token: "device token 1", type: .apn, apnTopic: "im.status.ethereum", attemptedAt: attempt,
                        reason: .apnsUnregistered,
                        route: "ios")),
            ]
            _ = try await store.update(update, at: attempt)
        },
        .open,
        .write { _ = try await $0.prune(at: start.advanced(by: ProtocolLimits.decidedMessageLifetime + .seconds(1))) },
    ]

    /// Opens the store with WAL checkpoints between the steps.
    func open(_ folder: TemporaryFolder) async throws -> SQLiteStore {
        // Failures are expected and frequent here, so the log is silent.
        let store = try SQLiteStore(
            path: folder.database, identity: identity, sealingKeys: sealingKeys, random: SplitMix64(seed: 1), logger: quietLogger)
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

    /// - Returns: The store for the next step.
    func perform(_ step: Step, on store: SQLiteStore?, in folder: TemporaryFolder) async throws -> SQLiteStore {
        if case .write(let write) = step, let store {
            try await write(store)
            return store
        }
        await store?.close()
        return try await open(folder)
    }
}

/// The state before one of the script's steps, as a copy of the files. A test of that step can skip the earlier ones.
struct StoreScene: Sendable {
    /// The scenes of each script in the order of its steps, with its end as the last one.
    static var courses: [[StoreScene]] {
        get async throws { [try await life.value, try await migration.value] }
    }

    /// The index of the next step.
    var number: Int
    /// Opens the database of the scene.
    var script = StoreScript()
    /// The rows of the database.
    var contents: StoreContents
    /// The files of a killed process, including the WAL, by the ends of their names. The script's first scene has none.
    private var files: [String: Data] = [:]

    /// The scenes of the whole script.
    static let life = Task {
        let script = StoreScript()
        let folder = try TemporaryFolder()
        var store: SQLiteStore?
        var scenes: [StoreScene] = []
        for (number, step) in StoreScript.steps.enumerated() {
            let open = try await script.perform(step, on: store, in: folder)
            store = open
            var scene = StoreScene(number: number + 1, contents: try await open.contents())
            if scenes.isEmpty { scenes.append(StoreScene(number: 0, contents: scene.contents)) }
            try scene.copy(folder)
            scenes.append(scene)
        }
        await store?.close()
        return scenes
    }

    /// The scenes of the first step on a database of 0.3.0.
    static let migration = Task {
        let folder = try TemporaryFolder()
        let release = EarlierRelease.sqlite
        try release.copy(to: folder)
        guard let owner = try SQLiteStore.identity(ofDatabaseAt: folder.database) else { throw StoreError.notSetUp }
        let script = StoreScript(identity: owner, sealingKeys: try release.sealingKeys())
        var first = StoreScene(number: 0, script: script, contents: [:])
        try first.copy(folder)
        let store = try await script.open(folder)
        first.contents = try await store.contents()
        await store.close()
        return [first, StoreScene(number: 1, script: script, contents: first.contents)]
    }

    /// Whether the database exists.
    var hasDatabase: Bool { !files.isEmpty }

    /// Whether the store is open at the next step.
    var isOpen: Bool { number > 0 }

    private mutating func copy(_ folder: TemporaryFolder) throws {
        for suffix in ["", "-wal"] { files[suffix] = FileManager.default.contents(atPath: folder.database + suffix) }
    }

    func makeFolder() throws -> TemporaryFolder {
        let folder = try TemporaryFolder()
        for (suffix, data) in files { try data.write(to: URL(filePath: folder.database + suffix)) }
        return folder
    }
}

/// The calls of a step that fail, one in each run: the first and a sample. With `DISK_FAULT_TEST=all`, which
/// `Scripts/crash-test disk` sets, each call fails.
struct FailingCalls: Sequence, IteratorProtocol {
    static let areAll = ProcessInfo.processInfo.environment["DISK_FAULT_TEST"] == "all"

    private var call = 0

    mutating func next() -> Int? {
        call = Self.areAll ? call + 1 : 3 * call + 1
        return call
    }
}

/// All rows of all tables in their order, by the name of the table. Sealed values have random nonces, so only their lengths count.
typealias StoreContents = [String: [[DatabaseValue]]]

extension SQLiteStore {
    func contents() async throws -> StoreContents {
        try await read { database in
            var contents: StoreContents = [:]
            for table in try String.fetchAll(database, sql: "SELECT name FROM sqlite_schema WHERE type = 'table'") {
                contents[table] = try Row.fetchAll(database, sql: "SELECT * FROM \(table)").map { row in
                    row.map { name, value in
                        let isSealed = name.hasPrefix("secret") || name.hasPrefix("sealed_")
                        return isSealed ? Data.fromDatabaseValue(value)?.count.databaseValue ?? .null : value
                    }
                }
            }
            return contents
        }
    }

    /// Returns whether SQLite's integrity check passes.
    func isIntact() async throws -> Bool {
        try await read { try String.fetchAll($0, sql: "PRAGMA integrity_check") == ["ok"] }
    }
}
