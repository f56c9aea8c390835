import Synchronization

/// Wakes one task that waits. A ring that finds nobody waiting is kept, however often it comes, for the next wait.
final class Bell: Sendable {
    private enum State {
        case quiet
        case rung
        case waiting(CheckedContinuation<Void, Never>)
    }

    private let state = Mutex(State.quiet)

    func ring() {
        let waiting: CheckedContinuation<Void, Never>? = state.withLock { state in
            if case .waiting(let continuation) = state {
                state = .quiet
                return continuation
            }
            state = .rung
            return nil
        }
        waiting?.resume()
    }

    /// Returns when the bell has rung, or the task is cancelled.
    func wait() async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isOver = state.withLock { state in
                    // Asked under the lock: a cancellation from here on finds the waiter.
                    if case .quiet = state, !Task.isCancelled {
                        state = .waiting(continuation)
                        return false
                    }
                    if case .rung = state { state = .quiet }
                    return true
                }
                if isOver { continuation.resume() }
            }
        } onCancel: {
            let waiting: CheckedContinuation<Void, Never>? = state.withLock { state in
                guard case .waiting(let continuation) = state else { return nil }
                state = .quiet
                return continuation
            }
            waiting?.resume()
        }
    }

    /// Returns when the bell has rung, the time is over, or the task is cancelled.
    func wait(atMost duration: Duration, clock: any Clock<Duration>) async {
        await withDiscardingTaskGroup { group in
            group.addTask {
                // A ring of a sleep that was cut short would be one too many.
                if (try? await clock.sleep(for: duration)) != nil { self.ring() }
            }
            await wait()
            group.cancelAll()
        }
    }
}
