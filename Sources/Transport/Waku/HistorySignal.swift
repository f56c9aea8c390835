import Concurrency
import Synchronization

/// What the poll of a topic and the topic's history tell each other: whether the node gives and that a gap was found; and that messages
/// were missed of which the poll knows nothing.
final class HistorySignal: Sendable {
    private struct State {
        var isReceiving = false
        var gapCount = 0
        var hasMissed = false
    }

    private let state = Mutex(State())
    private let gapFound = Notify()

    /// Whether the last GET of the poll succeeded.
    var isReceiving: Bool { state.withLock { $0.isReceiving } }

    /// Called by the poll after every step.
    func update(_ reception: TopicPoll.Reception) {
        guard case .gap = reception else { return state.withLock { $0.isReceiving = reception == .ongoing } }
        state.withLock { state in
            state.isReceiving = true
            state.gapCount += 1
        }
        gapFound.notify()
    }

    /// Called by the history when the store had what the poll did not.
    func noteMissed() {
        state.withLock { $0.hasMissed = true }
    }

    /// - Returns: true once after `noteMissed`.
    func takeMissed() -> Bool {
        state.withLock { state in
            defer { state.hasMissed = false }
            return state.hasMissed
        }
    }

    /// Takes one gap, if there is any.
    func takeGap() -> Bool {
        state.withLock { state in
            guard state.gapCount > 0 else { return false }
            state.gapCount -= 1
            return true
        }
    }

    /// Returns when there is a gap to be taken, or when the task is cancelled.
    func waitForGap() async {
        while state.withLock({ $0.gapCount == 0 }), !Task.isCancelled { await gapFound.wait() }
    }
}
