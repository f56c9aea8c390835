import Concurrency
import PushProtocol
package import StatusCrypto
import Store

/// How first attempts went, for those who wait for them: they name a push by its digest, for they begin to wait before it has a row.
package final class FirstAttemptWaiters: Sendable {
    package enum Result: Sendable, Equatable {
        case sent
        case deadToken
        /// It has ended otherwise.
        case failed
    }

    private struct Waiting {
        var results: [Digest32: Result?] = [:]
    }

    private let waiting = Monitor(Waiting())

    /// Pushes ended.
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

    /// Does what brings pushes under way, and waits until all have ended, or the time is over.
    ///
    /// - Parameter digests: each is waited for once at a time.
    /// - Returns: in their order; nil for those that have not ended.
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
