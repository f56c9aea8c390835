package import Bytes
import PushProtocol
import StatusCrypto
import Store
import Tasks

/// How a push ended, for a gateway that waits for it.
package enum FirstAttempt: Sendable, Equatable {
    case sent
    /// Apple or Google report the token as dead.
    case deadToken
    /// Any other outcome, or none in time.
    case failed

    fileprivate init(_ outcome: PushOutcome) {
        self =
            switch outcome {
            case .sent: .sent
            case .deadToken: .deadToken
            case .expired, .refused, .discarded, .withdrawn: .failed
            }
    }
}

/// The outcomes of pushes, for gateways that wait for them. A waiter identifies a push by its digest,
/// because it begins to wait before the push has a row.
package final class FirstAttemptWaiters: Sendable {
    private struct Waiting {
        var results: [Digest32: FirstAttempt?] = [:]
    }

    private let waiting = Monitor(Waiting())

    /// Whether somebody waits for one of the pushes.
    func awaits(_ pushes: some Sequence<QueuedPush>) -> Bool {
        waiting.read { waiting in !waiting.results.isEmpty && pushes.contains { waiting.results[$0.push.deduplicationKey] != nil } }
    }

    /// Reports finished pushes to their waiters.
    func note(_ ended: [(push: QueuedPush, outcome: PushOutcome)]) {
        guard !ended.isEmpty, waiting.read({ !$0.results.isEmpty }) else { return }
        waiting.update { waiting in
            for (push, outcome) in ended where waiting.results[push.push.deduplicationKey] != nil {
                waiting.results[push.push.deduplicationKey] = FirstAttempt(outcome)
            }
        }
    }

    /// Performs the work that enqueues pushes, and waits until all have finished, or the time has passed.
    ///
    /// - Parameter digests: The digests of the pushes. Each has at most one waiter at a time.
    /// - Returns: The outcomes in the same order, or nil for pushes that have not finished.
    package func wait(
        for digests: [Digest32], atMost duration: Duration, clock: any Clock<Duration>, after start: () async throws -> Void
    ) async throws -> [FirstAttempt?] {
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
