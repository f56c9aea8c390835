import Concurrency
import TestSupport
import Testing

@Suite(.safetyNet) struct ConcurrencyLimiterTests {
    @Test func `room is there below the limit, for a large batch too`() async throws {
        let limiter = ConcurrencyLimiter(limit: 10)
        try await limiter.acquire(9)
        try await limiter.acquire(100)
        #expect(limiter.count == 109)
        #expect(!limiter.tryAcquire())
        limiter.acquireAlways(2)
        #expect(limiter.count == 111)
    }

    @Test func `who finds no room waits for it`() async throws {
        let limiter = ConcurrencyLimiter(limit: 2)
        let entered = Condition(0)
        try await limiter.acquire(2)
        let waiting = (0..<2).map { _ in
            Task {
                try await limiter.acquire()
                entered.change { $0 += 1 }
            }
        }
        limiter.release()
        await entered.wait { $0 == 1 }
        #expect(limiter.count == 2)
        limiter.release()
        for task in waiting { try await task.value }
        #expect(limiter.count == 2)
    }

    @Test func `cancelled, who waits for room takes none`() async throws {
        let limiter = ConcurrencyLimiter(limit: 1)
        try await limiter.acquire()
        let waiting = Task { try await limiter.acquire() }
        waiting.cancel()
        await #expect(throws: CancellationError.self) { try await waiting.value }
        limiter.release()
        #expect(limiter.count == 0)
    }

    @Test func `idle is when nothing is under way`() async throws {
        let limiter = ConcurrencyLimiter(limit: 5)
        await limiter.waitUntilIdle()
        try await limiter.acquire(3)
        let isIdle = Condition(false)
        let waiting = Task {
            await limiter.waitUntilIdle()
            isIdle.change { $0 = true }
        }
        limiter.release(2)
        #expect(!isIdle.value)
        limiter.release()
        await isIdle.wait { $0 }
        await waiting.value
    }

    @Test func `cancelled, a wait for idleness ends`() async throws {
        let limiter = ConcurrencyLimiter(limit: 5)
        try await limiter.acquire()
        let waiting = Task { await limiter.waitUntilIdle() }
        waiting.cancel()
        await waiting.value
        #expect(limiter.count == 1)
    }
}
