import Concurrency
import Dispatch
import Foundation
import TestSupport
import Testing

@Suite(.safetyNet) struct BackgroundThreadTests {
    @Test func `work is done in order, with the priority of background work`() async throws {
        let thread = BackgroundThread(name: "test")
        let order = Recorder<Int>()
        try await thread.run { order.append(1) }
        try await thread.run { order.append(2) }
        #expect(order.all == [1, 2])
        #expect(try await thread.run { getpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0) } == 14)
        #expect(getpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0) < 10)
        #expect(try await thread.run { currentThreadName() } == "test")
    }

    @Test func `cancelled, a wait ends while the thread is busy, and work that has not begun never does`() async throws {
        let thread = BackgroundThread(name: "test")
        let isBusy = Condition(false)
        let mayEnd = DispatchSemaphore(value: 0)
        let busy = Task {
            try await thread.run {
                isBusy.change { $0 = true }
                mayEnd.wait()
            }
        }
        await isBusy.wait { $0 }
        let waiting = Task { try await thread.run { Issue.record("has begun") } }
        waiting.cancel()
        await #expect(throws: CancellationError.self) { try await waiting.value }
        busy.cancel()
        await #expect(throws: CancellationError.self) { try await busy.value }
        mayEnd.signal()
        try await thread.run {}
    }
}
