import CoreMetrics
import Envelope
import Logging
import Store
import Synchronization

/// Whether the last write to the store worked; while it did not, the store is probed, so that an idle server recovers by itself.
final class StoreHealth: Sendable {
    /// Between two probes: an operator who made room sees the server ready within seconds (RELIABILITY.md T3).
    private static let probeInterval = Duration.seconds(1)

    /// The longest that a write may take, those before it included: a batch takes a tenth of a second, and a client waits 3.
    static let longestWrite = Duration.seconds(5)

    private let logger: Logger
    private let time: SteadyTime
    /// When the writes began that are not over, by number.
    private let writes = Mutex((last: 0, starts: [Int: Duration]()))
    private let failureCount = Counter(label: "pushserver_store_write_failures_total")
    private let failing = Atomic<Bool>(false)
    /// The number of failures since the store could last be written.
    private let currentFailureCount = Atomic<Int>(0)
    private let failures: AsyncStream<Void>
    private let failure: AsyncStream<Void>.Continuation

    init(time: SteadyTime, logger: Logger) {
        self.time = time
        self.logger = logger
        (failures, failure) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    var isFailing: Bool { failing.load(ordering: .relaxed) }

    /// Whether the writer's oldest job has waited for too long.
    var isBehind: Bool {
        let oldest = writes.withLock { $0.starts.values.min() }
        return oldest.map { time.elapsed() - $0 > Self.longestWrite } ?? false
    }

    /// To be called for what was really written: a transaction without a change succeeds on a full disk, too.
    func succeeded() {
        guard isFailing, failing.exchange(false, ordering: .relaxed) else { return }
        logger.warning(
            "the store can be written again", metadata: ["failures": "\(currentFailureCount.exchange(0, ordering: .relaxed))"])
    }

    /// Logs the first failure; those that follow are counted, because a busy server has many a second.
    func failed(_ error: any Error) {
        failureCount.increment()
        currentFailureCount.add(1, ordering: .relaxed)
        if !failing.exchange(true, ordering: .relaxed) { logger.error("the store cannot be written", metadata: ["error": "\(error)"]) }
        failure.yield()
    }

    func timing<Result>(_ write: () async throws -> Result) async rethrows -> Result {
        let now = time.elapsed()
        let number = writes.withLock { writes in
            writes.last += 1
            writes.starts[writes.last] = now
            return writes.last
        }
        defer { writes.withLock { $0.starts[number] = nil } }
        return try await write()
    }

    func observing<Result>(_ write: () async throws -> Result) async throws -> Result {
        do {
            let result = try await timing(write)
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
