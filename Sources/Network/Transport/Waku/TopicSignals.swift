import Envelope
import Synchronization
import Tasks

/// The signals between a topic's poll task and its history task: events for a `HistorySync` and a `TopicPoll`.
final class TopicSignals: Sendable {
    private struct Pending {
        var gapCount = 0
        var isInterrupted = false
        /// Whether the node has no peers. Gaps wait until it has.
        var isPeerless = false
        var hasMissed = false

        var hasGap: Bool { gapCount > 0 && !isPeerless }
    }

    private let pending = Mutex(Pending())
    /// The watch over the node's store, or nil if the node's own store is not queried.
    private let storeWatch: Mutex<StoreWatch?>
    private let historySignal = Notify()
    private let rhythm: Mutex<PollRhythm>

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
            pending.isInterrupted = reception == .interrupted || pending.isPeerless && pending.isInterrupted
        }
        historySignal.notify()
    }

    /// The node has lost its peers, which interrupts the reception although the polls succeed, or has them again.
    func setPeers(_ hasPeers: Bool) {
        pending.withLock { $0.isPeerless = !hasPeers }
        signalHistory(hasPeers ? .gap(.peerless) : .interrupted)
    }

    func signalMissed() {
        pending.withLock { $0.hasMissed = true }
    }

    /// - Returns: The next event, each only once, or nil.
    func nextForHistory() -> HistorySync.Event? {
        pending.withLock { pending in
            if pending.hasGap {
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
        while pending.withLock({ !$0.hasGap && !$0.isInterrupted }), !Task.isCancelled { await historySignal.wait() }
    }
}
