import Concurrency
import Foundation
import TestSupport
import Testing

@Suite(.safetyNet) struct ComputingThreadsTests {
    @Test func `what computes there, children included, yields to all others`() async {
        let nicenesses = await withTaskGroup(of: Int32.self) { group in
            group.addTask(executorPreference: ComputingThreads.shared) { niceness }
            group.addTask(executorPreference: ComputingThreads.shared) {
                await withTaskGroup(of: Int32.self) { children in
                    children.addTask {
                        await Task.yield()
                        return niceness
                    }
                    return await children.next() ?? 0
                }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(nicenesses == [10, 10])
        #expect(niceness < 10)
    }
}

/// Of this thread.
private var niceness: Int32 { getpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0) }
