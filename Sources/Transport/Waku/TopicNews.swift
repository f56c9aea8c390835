import Concurrency
import Synchronization

/// What the poll of a topic and the topic's history, two tasks, have to tell each other: values for a `History` and a `TopicPoll`.
final class TopicNews: Sendable {
    private struct Untold {
        var gapCount = 0
        var isInterrupted = false
        var hasMissed = false
    }

    private let untold = Mutex(Untold())
    private let historyIsTold = Notify()

    func tellHistory(_ reception: TopicPoll.Reception) {
        untold.withLock { untold in
            if case .gap = reception { untold.gapCount += 1 }
            untold.isInterrupted = reception == .interrupted
        }
        historyIsTold.notify()
    }

    func tellPollOfMissed() {
        untold.withLock { $0.hasMissed = true }
    }

    /// - Returns: each event once.
    func nextForHistory() -> History.Event? {
        untold.withLock { untold in
            if untold.gapCount > 0 {
                untold.gapCount -= 1
                return .gap
            }
            defer { untold.isInterrupted = false }
            return untold.isInterrupted ? .interrupted : nil
        }
    }

    func nextForPoll() -> TopicPoll.Event? {
        untold.withLock { untold in
            defer { untold.hasMissed = false }
            return untold.hasMissed ? .missed : nil
        }
    }

    /// Returns when there is something for the history, or when the task is cancelled.
    func waitForHistory() async {
        while untold.withLock({ $0.gapCount == 0 && !$0.isInterrupted }), !Task.isCancelled { await historyIsTold.wait() }
    }
}
