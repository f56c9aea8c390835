import TestSupport
import Testing

@testable import Store

/// The power is cut at each call in turn that changes the disk: what was not synced is gone, all of it or some pages.
struct PowerLossTests {
    @Test(arguments: [false, true])
    func `Whenever the power is cut, what was acknowledged is there and nothing is half done`(keepsSomePages: Bool) async throws {
        let script = StoreScript()
        let expected = try await script.expectedContents()
        var call = 0
        while true {
            call += 1
            let cut = try await cutPower(at: call, script, keepsSomePages: keepsSomePages)
            #expect(cut.isIntact, "cut at call \(call)")
            // The step that was under way may have been the last to become durable.
            let isExpected = expected[cut.acknowledged...].prefix(cut.wasUnderWay ? 2 : 1).contains(cut.contents)
            #expect(isExpected, "cut at call \(call), after step \(cut.acknowledged)")
            if !cut.wasUnderWay { break }
        }
        // Every step makes some calls.
        #expect(call > 10 * StoreScript.steps.count)
    }

    @Test func `Without a sync at each commit the same script loses what was acknowledged`() async throws {
        let script = StoreScript(synchronous: .normal)
        let expected = try await script.expectedContents()
        var call = 0
        while true {
            call += 1
            let cut = try await cutPower(at: call, script, keepsSomePages: false)
            #expect(cut.isIntact)
            let after = try #require(expected.lastIndex(of: cut.contents))
            if after < cut.acknowledged { break }
            try #require(cut.wasUnderWay, "nothing was lost")
        }
    }

    private struct Cut {
        /// False when the script was through before.
        var wasUnderWay: Bool
        /// Steps whose commit had returned.
        var acknowledged: Int
        var isIntact: Bool
        var contents: StoreContents
    }

    private func cutPower(at call: Int, _ script: StoreScript, keepsSomePages: Bool) async throws -> Cut {
        let folder = try TemporaryFolder()
        let disk = try FaultyDisk(database: folder.database)
        disk.fail(.changes, with: .powerCut, first: call)
        let acknowledged = await run(script, in: folder)
        let wasUnderWay = disk.failureCount > 0
        disk.cutPower()
        try disk.restorePower(seed: keepsSomePages ? UInt64(call) : 0)

        let store = try folder.open()
        let cut = Cut(
            wasUnderWay: wasUnderWay, acknowledged: acknowledged, isIntact: try await store.isIntact(),
            contents: try await store.contents())
        await store.close()
        return cut
    }

    /// - Returns: how many steps were acknowledged before the first that failed.
    private func run(_ script: StoreScript, in folder: TemporaryFolder) async -> Int {
        guard var store = try? await script.open(folder) else { return 0 }
        for (number, step) in StoreScript.steps.enumerated() {
            do {
                store = try await script.perform(step, on: store, in: folder)
            } catch {
                await store.close()
                return number
            }
        }
        await store.close()
        return StoreScript.steps.count
    }
}
