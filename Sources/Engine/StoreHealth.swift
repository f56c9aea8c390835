import CoreMetrics
import Logging
import Store
import Synchronization

/// Whether the last write to the store worked; while it did not, the store is probed, so that an idle server recovers by itself.
final class StoreHealth: Sendable {
    /// Between two probes: an operator who made room sees the server ready within seconds (RELIABILITY.md T3).
    private static let probeInterval = Duration.seconds(1)

    private let logger: Logger
    private let failureCount = Counter(label: "pushserver_store_write_failures_total")
    private let failing = Atomic<Bool>(false)
    private let failures: AsyncStream<Void>
    private let failure: AsyncStream<Void>.Continuation

    init(logger: Logger) {
        self.logger = logger
        (failures, failure) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    var isFailing: Bool { failing.load(ordering: .relaxed) }

    /// To be called for what was really written: a transaction without a change succeeds on a full disk, too.
    func succeeded() {
        guard isFailing, failing.exchange(false, ordering: .relaxed) else { return }
        logger.warning("the store can be written again")
    }

    func failed(_ error: any Error) {
        failureCount.increment()
        if !failing.exchange(true, ordering: .relaxed) { logger.error("the store cannot be written", metadata: ["error": "\(error)"]) }
        failure.yield()
    }

    func observing<Result>(_ write: () async throws -> Result) async throws -> Result {
        do {
            let result = try await write()
            succeeded()
            return result
        } catch {
            failed(error)
            throw error
        }
    }

    /// Runs until cancelled.
    func run(probing store: any PushStore, clock: any Clock<Duration>) async {
        for await _ in failures {
            while isFailing, (try? await clock.sleep(for: Self.probeInterval)) != nil {
                if (try? await store.probe()) != nil { succeeded() }
            }
        }
    }
}
