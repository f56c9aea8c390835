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
    private let historySignal = Notify()

    func signalHistory(_ reception: TopicPoll.Reception) {
        pending.withLock { pending in
            if case .gap = reception { pending.gapCount += 1 }
            pending.isInterrupted = reception == .interrupted
        }
        historySignal.notify()
    }

    func signalMissed() {
        pending.withLock { $0.hasMissed = true }
    }

    /// - Returns: The next event, each one once, or nil.
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
