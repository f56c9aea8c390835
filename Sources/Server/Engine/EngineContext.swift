import CoreMetrics
import Envelope
import Logging
import Store
import Tasks

/// The clocks, the store and the instruments that every part of the engine uses.
struct EngineContext: Sendable {
    let store: any EngineStore
    let storeHealth: StoreHealth
    let metrics = EngineMetrics()
    let clock: any Clock<Duration>
    let wallClock: WallClock
    let time: SteadyTime
    let logger: Logger
    private let admission: Admission

    init(store: any EngineStore, clock: any Clock<Duration>, wallClock: WallClock, logger: Logger, admission: Admission) {
        self.store = store
        self.clock = clock
        self.wallClock = wallClock
        self.logger = logger
        time = SteadyTime(clock: clock, start: wallClock.read().stamp)
        self.admission = admission
        storeHealth = StoreHealth(time: time, logger: logger) { isAway in admission.update { $0.pause(isAway) } }
    }

    /// Returns messages to the journal, where they wait until the admission reads them again. All stages use this way back.
    ///
    /// Call it before the messages' permits end, so that the engine never looks idle in between.
    func giveBack(_ rows: [Int64], _ reason: AdmissionTable.Reason = .undecided) {
        if !rows.isEmpty { admission.update { $0.addRows(rows, reason) } }
    }

    /// Lets the keys of new registrations' query topics be derived before a message needs them.
    func deriveKeys(after changes: [TopicChange]) {
        let subscribers = changes.flatMap { change -> [TopicTable.Subscriber] in
            guard case .added(let added) = change else { return [] }
            return [false, true].map { .init(registration: added.registration, isPrefixed: $0) }
        }
        if !subscribers.isEmpty { admission.update { $0.deriveInAdvance(subscribers) } }
    }

    /// Commits work in a single transaction, and reports the result to ``storeHealth``, the metrics and the log.
    ///
    /// - Parameter hasWritten: Whether a piece of work has certainly changed the database.
    /// - Returns: For each piece of work, in the same order, what `decide` returned, or the store's error.
    func commit<Work: Sendable, Outcome: Sendable>(
        _ work: [Work], at now: Timestamp, loading lookups: @escaping @Sendable ([Work]) -> Lookups,
        deciding decide: @escaping @Sendable (Work, inout DecidedBatch) -> Outcome, hasWritten: (Work, Outcome) -> Bool
    ) async -> Committed<Outcome> {
        let (attempt, committed) = await storeHealth.timing {
            ($0, await store.commit(work, at: now, loading: lookups, deciding: decide))
        }
        // If another server owns the work, the store has not failed.
        let errors = committed.outcomes.compactMap(\.error).filter { StoreFault($0) != .taken }
        let error = errors.first { StoreFault($0) == .wholeStore } ?? errors.first
        let isProof = zip(work, committed.outcomes).contains { work, outcome in
            (try? outcome.get()).map { hasWritten(work, $0) } ?? false
        }
        if isProof, error.map({ StoreFault($0) }) != .wholeStore { storeHealth.succeeded(attempt) }
        if let error {
            storeHealth.failed(error)
            metrics.commitFailures.increment()
            logger.debug("a transaction failed", metadata: ["messages": "\(errors.count)", "error": "\(error)"])
        }
        return committed
    }
}

extension Result {
    var error: Failure? { if case .failure(let error) = self { error } else { nil } }
}
