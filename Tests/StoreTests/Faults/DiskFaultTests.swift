import Store
import TestSupport
import Testing

@testable import SQLiteStore

/// Disk failures in the middle of each step, once or until the disk recovers, under a store that continues.
@Suite(.fewAtATime)
struct DiskFaultTests {
    struct Fault: CustomTestStringConvertible {
        var testDescription: String
        var operations: FaultyDisk.Operations
        var failure: FaultyDisk.Failure
        /// Whether the fault lasts until the test ends it.
        var lasts: Bool

        static let all = [
            Fault(testDescription: "the disk is full", operations: .write, failure: .full, lasts: true),
            Fault(testDescription: "a write fails", operations: [.write, .truncate], failure: .writeError, lasts: false),
            Fault(testDescription: "syncs fail", operations: .sync, failure: .syncError, lasts: true),
            Fault(testDescription: "a sync fails", operations: .sync, failure: .syncError, lasts: false),
            Fault(testDescription: "reads fail", operations: .read, failure: .readError, lasts: true),
            Fault(testDescription: "a read fails", operations: .read, failure: .readError, lasts: false),
            Fault(testDescription: "the disk is read-only", operations: [.write, .truncate, .delete], failure: .readOnly, lasts: true),
            Fault(testDescription: "another process has the lock", operations: .lock, failure: .busy, lasts: true),
        ]
    }

    @Test(arguments: Fault.all)
    func `a store with a failing disk throws, changes nothing, and works again once the disk does`(fault: Fault) async throws {
        var failedSteps: Set<Int> = []
        for scenes in try await StoreScene.courses {
            for scene in scenes.dropLast() {
                for call in FailingCalls() {
                    var course = try Course(fault: fault, firstCall: call, from: scene, scenes)
                    try await course.run()
                    failedSteps.formUnion(course.failedSteps)
                    if !course.hasFailed { break }
                }
            }
        }
        // A page in memory needs no read.
        if !fault.operations.contains(.read) { #expect(failedSteps == Set(StoreScript.steps.indices)) }
    }

    @Test func `a write waits for a lock that another process holds briefly`() async throws {
        let fault = Fault(testDescription: "", operations: .lock, failure: .busy, lasts: false)
        for scenes in try await StoreScene.courses {
            for scene in scenes.dropLast() {
                for call in FailingCalls() {
                    var course = try Course(fault: fault, firstCall: call, from: scene, scenes)
                    try await course.run()
                    // Another process cannot lock a database that does not exist.
                    #expect(course.failedSteps == [] || !scene.hasDatabase, "\(course)")
                    if !course.hasFailed { break }
                }
            }
        }
    }

    @Test func `the owner of a database can be read while another process holds a lock briefly`() async throws {
        let folder = try TemporaryFolder()
        await (try await StoreScript().open(folder)).close()
        let disk = try FaultyDisk(database: folder.database)
        disk.fail(.lock, with: .busy, first: 1, count: 3)
        #expect(try SQLiteStore.identity(ofDatabaseAt: folder.database) == identity)
        #expect(disk.failureCount == 3)
    }
}

/// Two steps, on a disk that begins to fail at one call of the first.
private struct Course: CustomStringConvertible {
    /// Whether the first step makes enough calls for the failing one.
    private(set) var hasFailed = false
    private(set) var failedSteps: Set<Int> = []
    private let disk: FaultyDisk
    private let folder: TemporaryFolder
    private let script: StoreScript
    private let fault: DiskFaultTests.Fault
    private let call: Int
    private let scenes: ArraySlice<StoreScene>

    init(fault: DiskFaultTests.Fault, firstCall: Int, from scene: StoreScene, _ scenes: [StoreScene]) throws {
        self.fault = fault
        script = scene.script
        call = firstCall
        self.scenes = scenes[scene.number...].prefix(3)
        folder = try scene.makeFolder()
        disk = try FaultyDisk(database: folder.database)
    }

    var description: String { "call \(call) of step \(scenes.startIndex)" }

    mutating func run() async throws {
        var store = scenes[scenes.startIndex].isOpen ? try await script.open(folder) : nil
        disk.fail(fault.operations, with: fault.failure, first: call, count: fault.lasts ? .max : 1)
        for number in scenes.indices.dropLast() {
            store = try await perform(number, on: store)
            if number == scenes.startIndex { hasFailed = disk.failureCount > 0 }
        }
        disk.heal()

        // Acknowledged writes are durable, even after a failed sync.
        disk.cutPower()
        await store?.close()
        try disk.restorePower()
        let reopened = try await script.open(folder)
        #expect(try await reopened.isIntact(), "\(self)")
        #expect(try await reopened.contents() == scenes.last?.contents, "\(self)")
        await reopened.close()
    }

    /// Tries a step twice on the failing disk, then heals the disk and continues with the same store.
    private mutating func perform(_ number: Int, on store: SQLiteStore?) async throws -> SQLiteStore {
        let step = StoreScript.steps[number]
        for _ in 1...(fault.lasts ? 2 : 1) {
            do {
                return try await script.perform(step, on: store, in: folder)
            } catch {
                #expect(error is StoreError)
                failedSteps.insert(number)
            }
        }
        disk.heal()
        if case .write = step { #expect(try await store?.contents() == scenes[number].contents, "\(self), in step \(number)") }
        return try await script.perform(step, on: store, in: folder)
    }
}
