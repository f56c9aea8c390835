import Bytes
import Engine
import Envelope
import Foundation
import Logging
import PushProtocol
import SQLiteStore
import ServerCrypto
import StatusCrypto
import Store
import Synchronization
import TestSupport

/// A database with registered owners, made once. Each run gets its own copy.
struct SeededStore {
    /// The number of registrations in a transaction.
    private static let batchCount = 5_000
    /// The number of owners with a stored topic key: as many as the engine keeps in memory.
    private static let topicKeyCount = 20_000

    let ownerCount: Int
    let path: String
    private let copyPath: String

    init(ownerCount: Int, directory: String, progress: Progress) async throws {
        self.ownerCount = ownerCount
        path = directory + "/seed-\(ownerCount).sqlite"
        copyPath = directory + "/run.sqlite"
        Self.remove(path)
        let store = try Self.open(path)
        try await Self.fill(store, ownerCount: ownerCount, progress: progress)
        await store.close()
    }

    /// Registers owners in an empty store.
    static func fill(_ store: any PushStore, ownerCount: Int, progress: Progress) async throws {
        for start in stride(from: 0, to: ownerCount, by: batchCount) {
            if start > 0, start.isMultiple(of: 100_000) { progress.say("seeded \(start) of \(ownerCount) registrations") }
            let owners = (start..<min(ownerCount, start + batchCount)).map { Owner(number: $0) }
            try await store.apply(at: Timestamp(nanoseconds: 1_700_000_000_000_000_000)) { batch in
                for owner in owners { batch.register(owner.registration, topics: .init(keyHash: owner.keyHash)) }
            }
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<askedOwnerCount(of: ownerCount) {
                group.addTask {
                    let owner = Owner(number: number)
                    try await store.saveTopicKey(owner.topicKey, keyHash: owner.keyHash, prefixed: false)
                }
            }
            try await group.waitForAll()
        }
    }

    /// Adds waiting pushes to the seed.
    func addPushes(_ count: Int) async throws {
        let store = try Self.open(path)
        for start in stride(from: 0, to: count, by: 1_000) {
            try await store.apply(at: WallClock.system.now()) { batch in
                for number in start..<min(count, start + 1_000) {
                    batch.enqueue(DeliveryBenchmark.push(number), message: Int64(number + 1))
                }
            }
        }
        await store.close()
    }

    /// The number of owners that messages may concern.
    var askedOwnerCount: Int { Self.askedOwnerCount(of: ownerCount) }

    static func askedOwnerCount(of ownerCount: Int) -> Int { min(ownerCount, topicKeyCount) }

    var byteCount: Int { Self.byteCount(path) }

    /// Returns a synced copy of the seed. Otherwise the kernel would write it to the disk some seconds later, during a run.
    func copy() throws -> String {
        Self.remove(copyPath)
        try FileManager.default.copyItem(atPath: path, toPath: copyPath)
        let file = try FileHandle(forUpdating: URL(filePath: copyPath))
        try file.synchronize()
        try file.close()
        return copyPath
    }

    func remove() {
        Self.remove(path)
        Self.remove(copyPath)
    }

    private static let sealingSecret = FixedBytes<32>(repeating: 1)

    /// The sealing keys. A new server seals its database.
    static var sealingKeys: SealingKeys? { SealingKeys([(id: 1, secret: SecretBytes(sealingSecret))]) }

    /// Creates a folder with the identity key and the sealing keys of the databases, in which a server process can start.
    static func serverFolder() throws -> TemporaryFolder {
        let folder = try TemporaryFolder()
        try folder.write(BenchmarkOwners.server.withExposedBytes { Hex.encode([UInt8](copying: $0)) }, to: "identity.key")
        try folder.write("1 " + Hex.encode(sealingSecret.bytes), to: "sealing.key")
        return folder
    }

    static func open(_ path: String) throws -> SQLiteStore {
        try SQLiteStore(
            path: path, identity: BenchmarkOwners.server.publicKey.compressed, sealingKeys: sealingKeys,
            namedBundleIDs: ["im.status.ethereum"], logger: .silent)
    }

    static func byteCount(_ path: String) -> Int {
        (try? FileManager.default.attributesOfItem(atPath: path)[.size] as? Int) ?? 0
    }

    private static func remove(_ path: String) {
        for suffix in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: path + suffix) }
    }
}

extension Logger {
    static let silent = Logger(label: "pushbench") { _ in SwiftLogNoOpLogHandler() }
}
