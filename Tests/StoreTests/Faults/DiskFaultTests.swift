import TestSupport
import Testing

@testable import Store

/// The disk fails at each of its calls in turn, once or until it is put right, under a store that goes on.
struct DiskFaultTests {
    struct Fault: CustomTestStringConvertible {
        var testDescription: String
        var operations: FaultyDisk.Operations
        var failure: FaultyDisk.Failure
        /// Whether the disk stays so until somebody puts it right.
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
    func `A store whose disk fails says so, changes nothing, and works again once the disk does`(fault: Fault) async throws {
        let expected = try await StoreScript().expectedContents()
        var call = 0
        var failedSteps: Set<Int> = []
        var wasUnderWay = true
        while wasUnderWay {
            call += 1
            let course = try Course(fault: fault, firstCall: call, expected: expected)
            try await course.run()
            failedSteps.formUnion(course.failedSteps)
            wasUnderWay = course.disk.failureCount > 0
        }
        // A page that is in memory need not be read.
        if !fault.operations.contains(.read) { #expect(failedSteps == Set(StoreScript.steps.indices)) }
    }

    @Test func `A lock that another process has for a moment only is waited for`() async throws {
        let fault = Fault(testDescription: "", operations: .lock, failure: .busy, lasts: false)
        let expected = try await StoreScript().expectedContents()
        var call = 0
        var wasUnderWay = true
        while wasUnderWay {
            call += 1
            let course = try Course(fault: fault, firstCall: call, expected: expected)
            try await course.run()
            #expect(course.failedSteps == [], "call \(call)")
            wasUnderWay = course.disk.failureCount > 0
        }
    }
}

/// The script on a disk that begins to fail at one call.
private final class Course {
    let disk: FaultyDisk
    private(set) var failedSteps: Set<Int> = []
    private let folder: TemporaryFolder
    private let script = StoreScript()
    private let fault: DiskFaultTests.Fault
    private let call: Int
    private let expected: [StoreContents]

    init(fault: DiskFaultTests.Fault, firstCall: Int, expected: [StoreContents]) throws {
        self.fault = fault
        call = firstCall
        self.expected = expected
        folder = try TemporaryFolder()
        disk = try FaultyDisk(database: folder.database)
    }

    func run() async throws {
        disk.fail(fault.operations, with: fault.failure, first: call, count: fault.lasts ? .max : 1)
        var store = try await open()
        for number in StoreScript.steps.indices { store = try await perform(number, on: store) }
        disk.heal()
        #expect(try await store.contents() == expected.last, "call \(call)")

        // What was acknowledged is durable too, also after a sync that failed.
        disk.cutPower()
        await store.close()
        try disk.restorePower()
        let reopened = try await script.open(folder)
        #expect(try await reopened.isIntact(), "call \(call)")
        #expect(try await reopened.contents() == expected.last, "call \(call)")
        await reopened.close()
    }

    private func open() async throws -> PushStore {
        do {
            return try await script.open(folder)
        } catch {
            #expect(error is StoreError)
            disk.heal()
            return try await script.open(folder)
        }
    }

    /// Tries twice on a disk that stays bad, then puts it right and goes on with the same store.
    private func perform(_ number: Int, on store: PushStore) async throws -> PushStore {
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
        if case .write = step { #expect(try await store.contents() == expected[number], "call \(call), step \(number)") }
        return try await script.perform(step, on: store, in: folder)
    }
}
