import Dispatch
import Foundation
import Tasks
import TestSupport
import Testing
import Workers

@Suite(.safetyNet) struct WorkerPoolTests {
    @Test func `tasks that prefer the pool run at its niceness, and so do their children`() async {
        let nicenesses = await withTaskGroup(of: Int32.self) { group in
            group.addTask(executorPreference: WorkerPool.computing) { niceness }
            group.addTask(executorPreference: WorkerPool.computing) {
                await withTaskGroup(of: Int32.self) { children in
                    children.addTask { niceness }
                    return await children.next() ?? 0
                }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(nicenesses == [10, 10])
        #expect(niceness < 10)
    }

    @Test func `one thread does its work in order, at the niceness of background work`() async throws {
        let pool = WorkerPool(name: "test")
        let order = Recorder<Int>()
        try await pool.run { order.append(1) }
        try await pool.run { order.append(2) }
        #expect(order.all == [1, 2])
        #expect(try await pool.run { niceness } == 14)
        #expect(try await pool.run { currentThreadName() } == "test")
    }

    @Test func `two threads work at the same time`() async throws {
        let pool = WorkerPool(name: "test", threadCount: 2)
        let (first, second) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        async let one: Void = pool.run {
            first.signal()
            second.wait()
        }
        async let other: Void = pool.run {
            second.signal()
            first.wait()
        }
        _ = try await (one, other)
    }

    @Test func `a cancelled wait ends while the thread is busy, and work that has not begun never does`() async throws {
        let pool = WorkerPool(name: "test")
        let isBusy = Condition(false)
        let mayEnd = DispatchSemaphore(value: 0)
        let busy = Task {
            try await pool.run {
                isBusy.change { $0 = true }
                mayEnd.wait()
            }
        }
        await isBusy.wait { $0 }
        let waiting = Task { try await pool.run { Issue.record("has begun") } }
        waiting.cancel()
        await #expect(throws: CancellationError.self) { try await waiting.value }
        busy.cancel()
        await #expect(throws: CancellationError.self) { try await busy.value }
        mayEnd.signal()
        try await pool.run {}
    }
}

/// The niceness of the calling thread.
private var niceness: Int32 { getpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0) }
