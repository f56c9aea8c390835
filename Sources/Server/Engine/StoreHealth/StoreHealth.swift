import CoreMetrics
import Envelope
import Logging
import MetricDeclarations
import Store
import Synchronization
import Tasks

/// Records whether writes to the store succeed, and probes it while they fail, so an idle server recovers without new messages. The rules
/// are in ``StoreState``.
final class StoreHealth: Sendable {
    /// A write, including its wait for earlier writes. A batch takes 0.1 s, and a client waits 3 s.
    static let longestWrite = Duration.seconds(5)

    static let errors = Metric(
        .counter, "pushserver_storage_errors_total",
        help: "Writes and reads of messages that the database rejected, and failed renewals of the lease.")

    private let logger: Logger
    private let time: SteadyTime
    private let failureCount = errors.counter()
    private let state = Monitor(StoreState())
    private let onChange: @Sendable (_ isAway: Bool) -> Void
    /// Why the store was last away.
    private let lastReason = Mutex("")

    /// - Parameter onChange: Called when the store goes away or comes back. It must not call this object.
    init(time: SteadyTime, logger: Logger, onChange: @escaping @Sendable (_ isAway: Bool) -> Void = { _ in }) {
        self.time = time
        self.logger = logger
        self.onChange = onChange
    }

    /// Whether the store is away, so that messages wait in the journal.
    var isAway: Bool { update { $0.isAway } }

    /// Why the store is away, or nil if it is not.
    var awayReason: String? { isAway ? lastReason.withLock(\.self) : nil }

    /// Whether a write in progress has taken more than ``longestWrite``.
    var isBehind: Bool { state.read(\.oldestStart).map { time.elapsed() - $0 > Self.longestWrite } ?? false }

    func failures(_ earlier: StoreState.Failures?, triedAt start: Duration) -> StoreState.Failures {
        state.read { $0.failures(earlier, triedAt: start) }
    }

    /// Decides what happens to a message that failed, if necessary after a probe.
    ///
    /// - Returns: nil if the task is cancelled.
    func verdict(on failures: StoreState.Failures, clock: any Clock<Duration>) async -> StoreState.Verdict? {
        while !Task.isCancelled {
            let now = time.elapsed()
            if let verdict = update({ $0.verdict(on: failures, at: now) }) { return verdict }
            _ = await withTimeout(StoreState.probeLimit, clock: clock) { [state] in
                await state.wait { $0.awaitsProof(of: failures) ? nil : () }
            }
        }
        return nil
    }

    // MARK: Events

    /// Performs a write that counts for ``isBehind`` while it runs.
    func timing<Result>(_ write: (StoreState.Attempt) async throws -> Result) async rethrows -> Result {
        let now = time.elapsed()
        let attempt = state.update { $0.begin(at: now) }
        defer { state.update { $0.end(attempt) } }
        return try await write(attempt)
    }

    /// Reports a successful write. Call it only if the transaction changed the database: without a change it succeeds on a full disk too.
    func succeeded(_ attempt: StoreState.Attempt) {
        let failureCount = state.update { state in
            let failureCount = state.succeeded(attempt)
            if failureCount != nil { onChange(false) }
            return failureCount
        }
        if let failureCount { logger.warning("the store can be written again", metadata: ["failures": "\(failureCount)"]) }
    }

    /// Reports a failed write. Only the failure that shows that the store is away is logged, because a busy server has many a second.
    func failed(_ error: any Error) {
        failureCount.increment()
        report(error) { $0.failed(error) }
    }

    /// Counts an error that says nothing about writes, such as a read error.
    func count() { failureCount.increment() }

    /// Performs a write, and reports its success or failure.
    func observing<Result>(_ write: () async throws -> Result) async throws -> Result {
        try await timing { attempt in
            do {
                let result = try await write()
                succeeded(attempt)
                return result
            } catch {
                failed(error)
                throw error
            }
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

    // MARK: Probes

    /// Probes the store while it is away or in doubt, until the task is cancelled.
    func run(probing store: any EngineStore, clock: any Clock<Duration>) async {
        while let isAway = await state.wait(for: { $0.needsProbe ? $0.isAway : nil }) {
            if isAway {
                guard (try? await clock.sleep(for: StoreState.probeInterval)) != nil else { return }
                guard state.read(\.needsProbe) else { continue }
            }
            let now = time.elapsed()
            let attempt = state.update { $0.beginProbe(at: now) }
            // The probe has its own task, because the shutdown does not wait for a probe that hangs.
            Task { await self.probe(store, attempt) }
            guard await state.wait(for: { $0.isProbing ? nil : () }) != nil else { return }
        }
    }

    private func probe(_ store: any EngineStore, _ attempt: StoreState.Attempt) async {
        do {
            try await store.probe()
            succeeded(attempt)
        } catch {
            failureCount.increment()
            report(error) { $0.probeFailed() }
        }
        state.update { $0.endProbe(attempt) }
    }

    // MARK: Changes

    /// Reports a change after which the store may be away, and logs it if it is since now.
    private func report(_ error: any Error, _ change: (inout StoreState) -> Bool) {
        let hasLeft = state.update { state in
            let hasLeft = change(&state)
            if hasLeft {
                lastReason.withLock { $0 = "\(error)" }
                onChange(true)
            }
            return hasLeft
        }
        if hasLeft { logger.error("the store cannot be written", metadata: ["error": "\(error)"]) }
    }

    /// Changes the state after advancing it to the present time.
    private func update<Result: Sendable>(_ body: (inout StoreState) -> Result) -> Result {
        let now = time.elapsed()
        report(StoreState.ProbeHangs()) { $0.advance(to: now) }
        return state.update(body)
    }
}
