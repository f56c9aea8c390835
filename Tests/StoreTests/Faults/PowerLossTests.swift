import Store
import TestSupport
import Testing

@testable import SQLiteStore

/// Power cuts in the middle of each step. Unsynced writes are lost, either all or some of their pages.
@Suite(.fewAtATime)
struct PowerLossTests {
    @Test(arguments: [false, true])
    func `after a power cut at any point, acknowledged writes exist and no transaction is half done`(keepsSomePages: Bool) async throws {
        for (before, after) in try await StoreScene.courses.flatMap({ zip($0, $0.dropFirst()) }) {
            for call in FailingCalls() {
                let cut = try await cutPower(at: call, from: before, keepsSomePages: keepsSomePages)
                #expect(cut.isIntact, "cut at call \(call) of step \(before.number)")
                // An unfinished write may have become durable.
                let isExpected = cut.contents == after.contents || !cut.isAcknowledged && cut.contents == before.contents
                #expect(isExpected, "cut at call \(call) of step \(before.number)")
                if !cut.wasUnderWay { break }
                #expect(call > 1 || !cut.isAcknowledged, "step \(before.number) changed nothing")
            }
        }
    }

    @Test func `without a sync at each commit, the same script loses acknowledged writes`() async throws {
        let scenes = try await StoreScene.life.value
        var lostSteps: [Int] = []
        for (before, after) in zip(scenes, scenes.dropFirst()) {
            let cut = try await cutPower(at: .max, from: before, StoreScript(synchronous: .normal), keepsSomePages: false)
            #expect(cut.isIntact && cut.isAcknowledged)
            if cut.contents != after.contents { lostSteps.append(before.number) }
        }
        #expect(!lostSteps.isEmpty)
    }

    private struct Cut {
        /// Whether the power cut interrupted the step. false means that the step had ended before.
        var wasUnderWay: Bool
        /// Whether the step had returned.
        var isAcknowledged: Bool
        var isIntact: Bool
        var contents: StoreContents
    }

    private func cutPower(
        at call: Int, from scene: StoreScene, _ other: StoreScript? = nil, keepsSomePages: Bool
    ) async throws -> Cut {
        let script = other ?? scene.script
        let folder = try scene.makeFolder()
        let disk = try FaultyDisk(database: folder.database)
        var store = scene.isOpen ? try await script.open(folder) : nil
        disk.fail(.changes, with: .powerCut, first: call)
        var isAcknowledged = false
        do {
            store = try await script.perform(StoreScript.steps[scene.number], on: store, in: folder)
            isAcknowledged = true
        } catch {
            #expect(error is StoreError)
        }
        let wasUnderWay = disk.failureCount > 0
        disk.cutPower()
        await store?.close()
        try disk.restorePower(seed: keepsSomePages ? UInt64(call) : 0)

        let reopened = try folder.open(identity: script.identity, sealingKeys: script.sealingKeys)
        let cut = Cut(
            wasUnderWay: wasUnderWay, isAcknowledged: isAcknowledged, isIntact: try await reopened.isIntact(),
            contents: try await reopened.contents())
        await reopened.close()
        return cut
    }
}
