import CoreMetrics
import Envelope
import Logging
import MetricDeclarations
import Store
import Synchronization

/// Records whether writes to the store succeed. After a failure it probes the store until a write succeeds, so an idle server recovers
/// without new messages.
final class StoreHealth: Sendable {
    /// 1 s between probes: an operator who frees disk space sees the server ready within seconds (RELIABILITY.md T3).
    private static let probeInterval = Duration.seconds(1)

    /// 5 s for a write, including its wait for earlier writes. A batch takes 0.1 s, and a client waits 3 s.
    static let longestWrite = Duration.seconds(5)

    static let errors = Metric(.counter, "pushserver_storage_errors_total", help: "Writes that the database rejected.")

    private let logger: Logger
    private let time: SteadyTime
    /// The start times of the writes in progress, by number.
    private let writes = Mutex((last: 0, starts: [Int: Duration]()))
    private let failureCount = errors.counter()
    private let failing = Atomic<Bool>(false)
    /// The number of failures since the last successful write.
    private let currentFailureCount = Atomic<Int>(0)
    private let failures: AsyncStream<Void>
    private let failure: AsyncStream<Void>.Continuation

    init(time: SteadyTime, logger: Logger) {
        self.time = time
        self.logger = logger
        (failures, failure) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    /// Whether the last write failed.
    var isFailing: Bool { failing.load(ordering: .relaxed) }

    /// Whether a write in progress has taken more than ``longestWrite``.
    var isBehind: Bool {
        let oldest = writes.withLock { $0.starts.values.min() }
        return oldest.map { time.elapsed() - $0 > Self.longestWrite } ?? false
    }

    /// Reports a successful write. Call it only if the transaction changed the database: without a change it succeeds on a full disk too.
    func succeeded() {
        guard isFailing, failing.exchange(false, ordering: .relaxed) else { return }
        logger.warning(
            "the store can be written again", metadata: ["failures": "\(currentFailureCount.exchange(0, ordering: .relaxed))"])
    }

    /// Reports a failed write. The first failure is logged. Later failures are only counted, because a busy server has many a second.
    func failed(_ error: any Error) {
        failureCount.increment()
        currentFailureCount.add(1, ordering: .relaxed)
        if !failing.exchange(true, ordering: .relaxed) { logger.error("the store cannot be written", metadata: ["error": "\(error)"]) }
        failure.yield()
    }

    /// Performs a write that counts for ``isBehind`` while it runs.
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

    /// Performs a write, and reports its success or failure.
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

    /// Performs a read that no message can do without, and reports its failure.
    func observingFailure<Result>(_ read: () async throws -> Result) async throws -> Result {
        do {
            return try await read()
        } catch {
            failed(error)
            throw error
        }
    }

    /// Probes the store while it fails, until the task is cancelled.
    func run(probing store: any PushStore, clock: any Clock<Duration>) async {
        for await _ in failures {
            while isFailing, (try? await clock.sleep(for: Self.probeInterval)) != nil {
                if (try? await store.probe()) != nil { succeeded() }
            }
        }
    }
}
