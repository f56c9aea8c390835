import CoreMetrics
import Envelope
import Logging
import Store

/// The clocks, the store and the instruments that every part of the engine uses.
struct EngineContext: Sendable {
    let store: any PushStore
    let storeHealth: StoreHealth
    let metrics = EngineMetrics()
    let clock: any Clock<Duration>
    let wallClock: WallClock
    let time: SteadyTime
    let logger: Logger

    init(store: any PushStore, clock: any Clock<Duration>, wallClock: WallClock, logger: Logger) {
        self.store = store
        self.clock = clock
        self.wallClock = wallClock
        self.logger = logger
        time = SteadyTime(clock: clock, start: wallClock.now())
        storeHealth = StoreHealth(time: time, logger: logger)
    }

    /// Commits work in one transaction, and reports failures to ``storeHealth``, the metrics and the log.
    ///
    /// The caller reports success, because only the caller knows whether the transaction changed anything.
    ///
    /// - Returns: The outcome of each piece of work in the same order: the result of `decide`, or the error of the store.
    func commit<Work: Sendable, Outcome: Sendable>(
        _ work: [Work], at now: Timestamp, loading lookups: @escaping @Sendable ([Work]) -> Lookups,
        deciding decide: @escaping @Sendable (Work, inout DecidedBatch) -> Outcome
    ) async -> Committed<Outcome> {
        let committed = await storeHealth.timing { await store.commit(work, at: now, loading: lookups, deciding: decide) }
        // Work of another server is no failure of the store.
        let errors = committed.outcomes.compactMap(\.error).filter { !$0.isTaken }
        if let error = errors.first {
            storeHealth.failed(error)
            metrics.commitFailures.increment()
            logger.debug("a transaction failed", metadata: ["messages": "\(errors.count)", "error": "\(error)"])
        }
        return committed
    }
}

extension Error {
    /// Whether the message has a decision already, or another server owns it, so that this server has nothing left to do.
    var isTaken: Bool { self as? StoreError == .alreadyDecided }
}

extension Result {
    var error: Failure? { if case .failure(let error) = self { error } else { nil } }
}
