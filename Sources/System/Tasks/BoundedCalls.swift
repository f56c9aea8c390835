/// Calls of code that may never return.
///
/// Each call runs in a separate task, so neither the caller nor the caller's task group has to wait for it.
package final class BoundedCalls: Sendable {
    /// The reason why a call did not return a result.
    package enum Failure: Error {
        /// The call took longer than its limit. It may still have an effect.
        case abandoned(after: Duration)
        /// The call was not made, because too many abandoned calls have yet to return.
        case busy
    }

    private struct Call<Result: Sendable>: Sendable {
        /// The first result, or the reason why there is none. Later results are ignored.
        var result: Swift.Result<Result, any Error>?
        var hasReturned = false
    }

    private let maximumAbandonedCount: Int
    private let clock: any Clock<Duration>
    private let abandonedCount = Monitor(0)

    /// - Parameter maximumAbandonedCount: Four by default: what hangs is used no more, while a single slow call does no harm.
    package init(maximumAbandonedCount: Int = 4, clock: any Clock<Duration>) {
        self.maximumAbandonedCount = maximumAbandonedCount
        self.clock = clock
    }

    /// Makes a call.
    ///
    /// - Throws: The call's error, ``Failure``, or `CancellationError` as soon as the caller's task is cancelled.
    package func call<Result: Sendable>(
        atMost limit: Duration, _ body: @escaping @Sendable () async throws -> Result
    ) async throws -> Result {
        guard abandonedCount.read({ [maximumAbandonedCount] in $0 < maximumAbandonedCount }) else { throw Failure.busy }
        let call = Monitor(Call<Result>())
        let work = Task {
            let result: Swift.Result<Result, any Error>
            do {
                result = .success(try await body())
            } catch {
                result = .failure(error)
            }
            call.update { call in
                call.hasReturned = true
                call.result = call.result ?? result
            }
        }
        Task { await supervise(call, atMost: limit, work) }
        guard let result = await call.wait(for: { $0.result }) else {
            work.cancel()
            throw CancellationError()
        }
        return try result.get()
    }

    /// Returns when no abandoned call is left.
    package func waitForAbandonedCalls() async {
        await abandonedCount.wait { $0 == 0 ? () : nil }
    }

    /// Abandons a call that takes too long. A call whose caller was cancelled gets the same time to return.
    private func supervise<Result>(_ call: Monitor<Call<Result>>, atMost limit: Duration, _ work: Task<Void, Never>) async {
        let hasReturned: @Sendable () async -> Void? = { await call.wait { $0.hasReturned ? () : nil } }
        guard await withTimeout(limit, clock: clock, hasReturned) == nil else { return }
        abandonedCount.update { $0 += 1 }
        call.update { $0.result = $0.result ?? .failure(Failure.abandoned(after: limit)) }
        work.cancel()
        await hasReturned()
        abandonedCount.update { $0 -= 1 }
    }
}
