import Concurrency
import TestSupport
import Testing

@Suite(.safetyNet) struct AsyncMutexTests {
    private struct Failure: Error {}

    @Test func `one task at a time is inside`() async throws {
        let mutex = AsyncMutex()
        let inside = Condition((count: 0, most: 0))
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<200 {
                group.addTask {
                    try await mutex.withLock {
                        inside.change { $0 = ($0.count + 1, max($0.most, $0.count + 1)) }
                        await Task.detached {}.value  // somewhere to be overtaken
                        inside.change { $0.count -= 1 }
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(inside.value.most == 1)
    }

    @Test func `who waits and is cancelled leaves, and the turn goes to the next`() async throws {
        let mutex = AsyncMutex()
        let isInside = Condition(false)
        let mayLeave = Condition(false)
        let holder = Task {
            try await mutex.withLock {
                isInside.change { $0 = true }
                await mayLeave.wait { $0 }
            }
        }
        await isInside.wait { $0 }
        let cancelled = Task { try await mutex.withLock { Issue.record("was let in") } }
        cancelled.cancel()
        await #expect(throws: CancellationError.self) { try await cancelled.value }
        mayLeave.change { $0 = true }
        try await holder.value
        #expect(try await mutex.withLock { true })
    }

    @Test func `a body that throws leaves`() async throws {
        let mutex = AsyncMutex()
        await #expect(throws: Failure.self) { try await mutex.withLock { throw Failure() } }
        #expect(try await mutex.withLock { true })
    }
}
