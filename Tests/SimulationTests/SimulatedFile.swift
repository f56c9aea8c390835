import Bytes
import Foundation
import PushProtocol
import StatusCrypto
import Store
import TestSupport

@testable import SQLiteStore

/// A simulated world's database in an SQLite file, on a disk that fails and loses its power.
struct SimulatedFile: SimulatedDatabase {
    private let folder: TemporaryFolder
    private let path: String
    private var disk: FaultyDisk
    private(set) var store: SQLiteStore?
    private var cutsPower = false

    init() throws {
        folder = try TemporaryFolder()
        path = folder.path("push.sqlite")
        disk = try FaultyDisk(database: path)
    }

    mutating func open(seed: UInt64) throws -> any PushStore {
        let store = try SQLiteStore(
            path: path, identity: Party.server.key.compressed, sealingKeys: testSealingKeys, random: SplitMix64(seed: seed),
            maximumQueueCount: Server.maximumQueueCount, logger: quietLogger)
        self.store = store
        return store
    }

    mutating func fail(with failure: FaultyDisk.Failure, first: Int, count: Int) {
        disk.fail(.changes, with: failure, first: first, count: count)
        cutsPower = failure == .powerCut
    }

    mutating func heal() {
        guard !isCut else { return }
        disk.heal()
        cutsPower = false
    }

    var isCut: Bool { cutsPower && disk.failureCount > 0 }

    mutating func crash(powerCut: UInt64?) async throws {
        if let powerCut {
            disk.cutPower()
            await store?.close()
            try disk.restorePower(seed: powerCut)
        } else {
            // A killed process leaves its files like this.
            disk.heal()
            let files = Dictionary(uniqueKeysWithValues: ["", "-wal"].map { ($0, FileManager.default.contents(atPath: path + $0)) })
            await store?.close()
            for case (let suffix, let data?) in files { try data.write(to: URL(filePath: path + suffix)) }
        }
        disk = try FaultyDisk(database: path)
        cutsPower = false
    }

    func remove() {}
}
