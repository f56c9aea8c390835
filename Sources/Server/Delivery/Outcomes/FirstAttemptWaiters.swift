package import Bytes
import PushProtocol
import StatusCrypto
import Store
import Tasks

/// The outcomes of pushes, for gateways that wait for them. A waiter identifies a push by its digest,
/// because it begins to wait before the push has a row.
package final class FirstAttemptWaiters: Sendable {
    package enum Result: Sendable, Equatable {
        case sent
        case deadToken
        /// The push finished with another outcome.
        case failed
    }

    private struct Waiting {
        var results: [Digest32: Result?] = [:]
    }

    private let waiting = Monitor(Waiting())

    /// Reports finished pushes to their waiters.
    func note(_ ended: [(push: QueuedPush, outcome: PushOutcome)]) {
        guard !ended.isEmpty, waiting.read({ !$0.results.isEmpty }) else { return }
        waiting.update { waiting in
            for (push, outcome) in ended where waiting.results[push.push.deduplicationKey] != nil {
                let result: Result =
                    switch outcome {
                    case .sent: .sent
                    case .deadToken: .deadToken
                    case .expired, .refused, .discarded, .withdrawn: .failed
                    }
                waiting.results[push.push.deduplicationKey] = result
            }
        }
    }

    /// Performs the work that enqueues pushes, and waits until all have finished, or the time has passed.
    ///
    /// - Parameter digests: The digests of the pushes. Each has at most one waiter at a time.
    /// - Returns: The outcomes in the same order, or nil for pushes that have not finished.
    package func wait(
        for digests: [Digest32], atMost duration: Duration, clock: any Clock<Duration>, after start: () async throws -> Void
    ) async throws -> [Result?] {
        waiting.update { waiting in
            for digest in digests { waiting.results[digest] = .some(nil) }
        }
        defer {
            waiting.update { waiting in
                for digest in digests { waiting.results[digest] = nil }
            }
        }
        try await start()
        _ = await withTimeout(duration, clock: clock) {
            await self.waiting.wait { waiting in digests.allSatisfy { (waiting.results[$0] ?? nil) != nil } ? () : nil }
        }
        return waiting.read { waiting in digests.map { waiting.results[$0] ?? nil } }
    }
}
