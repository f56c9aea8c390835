import Foundation
import TestSupport
import Testing

/// A test that waits for what never comes says for what.
@Suite(.safetyNet)
struct HangingTests {
    @Test func `a wait that lasts too long is told with its place and with what it sees`() async throws {
        let (waits, recorder, clock) = (OpenWaits(), Recorder<String>(), ManualClock())
        let folder = try TemporaryFolder()
        recorder.append("first")
        #expect(waits.hang == nil)
        let line = #line
        let waiting: [Task<Void, Never>] = OpenWaits.$current.withValue(waits) {
            [
                Task { _ = await recorder.wait(for: 2) },
                Task { await clock.sleepers(dueIn: .seconds(5)) },
                Task { try? await FolderWatch(folder.path("")).wait { false } },
            ]
        }
        await waits.wait(for: waiting.count)
        await waits.waitForHang(of: .nanoseconds(1))
        let text = try #require(waits.hang)
        #expect(text.contains("HangingTests.swift:\(line + 3), sees [\"first\"]"), "\(text)")
        #expect(text.contains("HangingTests.swift:\(line + 4), sees sleepers due in []"), "\(text)")
        #expect(text.contains("HangingTests.swift:\(line + 5), sees 0 changes in the folder"), "\(text)")
        for task in waiting { task.cancel() }
        for task in waiting { await task.value }
        #expect(waits.hang == nil)
    }
}
