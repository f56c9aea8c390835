import Synchronization

/// What the poll of a topic and the topic's history tell each other: whether the node gives and that a gap was found; and that messages
/// were missed of which the poll knows nothing.
final class HistorySignal: Sendable {
    private struct State {
        var isReceiving = false
        var gapCount = 0
        var hasMissed = false
        var waiting: CheckedContinuation<Void, Never>?
    }

    private let state = Mutex(State())

    /// Whether the last GET of the poll succeeded.
    var isReceiving: Bool { state.withLock { $0.isReceiving } }

    /// Called by the poll after every step.
    func update(isReceiving: Bool, hasGap: Bool) {
        wake { state in
            state.isReceiving = isReceiving
            if hasGap { state.gapCount += 1 }
            return hasGap
        }
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

    /// Returns when there is a gap to be taken, or when the task is cancelled. Has one waiter at a time.
    func wait() async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isOver = state.withLock { state in
                    guard state.gapCount == 0, !Task.isCancelled else { return true }
                    state.waiting = continuation
                    return false
                }
                if isOver { continuation.resume() }
            }
        } onCancel: {
            wake { _ in true }
        }
    }

    private func wake(_ update: (inout State) -> Bool) {
        let waiting = state.withLock { state -> CheckedContinuation<Void, Never>? in
            guard update(&state) else { return nil }
            defer { state.waiting = nil }
            return state.waiting
        }
        waiting?.resume()
    }
}
