import Envelope
import Synchronization
import Tasks

/// The signals between a topic's poll task and its history task: events for a `HistorySync` and a `TopicPoll`.
final class TopicSignals: Sendable {
    private struct Pending {
        var gapCount = 0
        var isInterrupted = false
        var hasMissed = false
    }

    private let pending = Mutex(Pending())
    /// The watch over the node's store, or nil if the node's own store is not queried.
    private let storeWatch: Mutex<StoreWatch?>
    private let historySignal = Notify()
    private let rhythm: Mutex<PollRhythm>
    private let outages = Monitor((watch: OutageWatch(), ended: ClosedRange<Timestamp>?.none))

    /// - Parameter pollInterval: The time between two polls.
    init(watchesStore: Bool, pollInterval: Duration) {
        storeWatch = Mutex(watchesStore ? StoreWatch() : nil)
        rhythm = Mutex(PollRhythm(interval: pollInterval))
    }

    func polled(at time: Duration, _ now: Timestamp) { rhythm.withLock { $0.polled(at: time, now) } }

    /// Whether polls came at their interval since a time on the wall clock, and still do.
    func isPolledSteadily(since start: Timestamp, at time: Duration) -> Bool { rhythm.withLock { $0.isSteady(since: start, at: time) } }

    /// Tells the watch over the node's store what happened.
    ///
    /// - Returns: The closure's result, or nil if the store is not watched.
    @discardableResult
    func watchStore<Result>(_ change: (inout StoreWatch) -> Result) -> Result? {
        storeWatch.withLock { watch in
            guard var changed = watch else { return nil }
            watch = nil  // not copied
            defer { watch = changed }
            return change(&changed)
        }
    }

    func signalHistory(_ reception: TopicPoll.Reception) {
        pending.withLock { pending in
            if case .gap = reception { pending.gapCount += 1 }
            pending.isInterrupted = reception == .interrupted
        }
        historySignal.notify()
    }

    /// Notes a change in the reception for ``nextOutage()``.
    func noteReception(_ reception: TopicPoll.Reception, at now: Timestamp) {
        outages.update { outages in
            if let outage = outages.watch.note(reception, at: now) { outages.ended = outage }
        }
    }

    /// Waits for the end of an outage of the node, or returns nil when the task is cancelled. Only the last of several is kept.
    func nextOutage() async -> ClosedRange<Timestamp>? {
        await outages.wait { outages in
            defer { outages.ended = nil }
            return outages.ended
        }
    }

    func signalMissed() {
        pending.withLock { $0.hasMissed = true }
    }

    /// - Returns: The next event, each only once, or nil.
    func nextForHistory() -> HistorySync.Event? {
        pending.withLock { pending in
            if pending.gapCount > 0 {
                pending.gapCount -= 1
                return .gap
            }
            defer { pending.isInterrupted = false }
            return pending.isInterrupted ? .interrupted : nil
        }
    }

    func nextForPoll() -> TopicPoll.Event? {
        pending.withLock { pending in
            defer { pending.hasMissed = false }
            return pending.hasMissed ? .missed : nil
        }
    }

    /// Returns when an event for the history task is pending, or the task is cancelled.
    func waitForHistory() async {
        while pending.withLock({ $0.gapCount == 0 && !$0.isInterrupted }), !Task.isCancelled { await historySignal.wait() }
    }
}
