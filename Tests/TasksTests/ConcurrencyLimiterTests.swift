import Tasks
import TestSupport
import Testing

@Suite(.safetyNet) struct ConcurrencyLimiterTests {
    @Test(arguments: [1, 3]) func `the number of tasks with a slot stays within the limit`(limit: Int) async throws {
        let limiter = ConcurrencyLimiter(limit: limit)
        let inside = Condition((count: 0, most: 0))
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<200 {
                group.addTask {
                    try await limiter.acquire()
                    inside.change { $0 = ($0.count + 1, max($0.most, $0.count + 1)) }
                    await Task.detached {}.value  // suspends, so that others could overtake
                    inside.change { $0.count -= 1 }
                    limiter.release()
                }
            }
            try await group.waitForAll()
        }
        #expect((1...limit).contains(inside.value.most))
    }

    @Test func `a released slot goes to one waiting task`() async throws {
        let limiter = ConcurrencyLimiter(limit: 1)
        let enteredCount = Condition(0)
        try await limiter.acquire()
        let waiting = (0..<2).map { _ in
            Task {
                try await limiter.acquire()
                enteredCount.change { $0 += 1 }
            }
        }
        limiter.release()
        await enteredCount.wait { $0 == 1 }
        limiter.release()
        await enteredCount.wait { $0 == 2 }
        for task in waiting { try await task.value }
    }

    @Test func `of two tasks with a slot one returns it, and one more has a slot`() async throws {
        let limiter = ConcurrencyLimiter(limit: 2)
        for _ in 1...2 { try await limiter.acquire() }
        limiter.release()
        try await limiter.acquire()
        let waiting = Task { try await limiter.acquire() }
        waiting.cancel()
        await #expect(throws: CancellationError.self) { try await waiting.value }
    }

    @Test func `a cancelled task takes no slot`() async throws {
        let limiter = ConcurrencyLimiter(limit: 1)
        try await limiter.acquire()
        let waiting = Task { try await limiter.acquire() }
        waiting.cancel()
        await #expect(throws: CancellationError.self) { try await waiting.value }
        limiter.release()
        try await limiter.acquire()
    }
}
