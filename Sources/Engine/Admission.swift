import Synchronization

/// Bounds how many messages are under way between their record and their last mark, and tells when none is.
final class Admission: Sendable {
    private struct State {
        var count = 0
        var waiting: [CheckedContinuation<Void, Never>] = []
        var idlers: [Int: CheckedContinuation<Void, Never>] = [:]
        var lastIdler = 0
    }

    private let maximumCount: Int
    private let state = Mutex(State())

    init(maximumCount: Int) {
        self.maximumCount = maximumCount
    }

    /// Waits until there is room, then enters. A batch that is larger than the whole room enters when the room is empty of surplus.
    func enter(_ count: Int) async {
        while true {
            let hasEntered = state.withLock { state in
                guard state.count < maximumCount else { return false }
                state.count += count
                return true
            }
            if hasEntered { return }
            await withCheckedContinuation { continuation in
                let hasRoom = state.withLock { state in
                    guard state.count >= maximumCount else { return true }
                    state.waiting.append(continuation)
                    return false
                }
                if hasRoom { continuation.resume() }
            }
        }
    }

    /// Enters without waiting: for what was under way before a restart.
    func enterAtOnce(_ count: Int) {
        state.withLock { $0.count += count }
    }

    func leave(_ count: Int = 1) {
        let woken = state.withLock { state -> [CheckedContinuation<Void, Never>] in
            state.count -= count
            var woken: [CheckedContinuation<Void, Never>] = []
            if state.count < maximumCount {
                woken += state.waiting
                state.waiting = []
            }
            if state.count == 0 {
                woken += state.idlers.values
                state.idlers = [:]
            }
            return woken
        }
        for continuation in woken { continuation.resume() }
    }

    var count: Int { state.withLock { $0.count } }

    /// Returns when nothing is under way, or when the task is cancelled.
    func waitUntilIdle() async {
        let idler = state.withLock { state in
            state.lastIdler += 1
            return state.lastIdler
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                // Asked under the lock: a cancellation from here on finds the waiter.
                let isOver = state.withLock { state in
                    guard state.count > 0, !Task.isCancelled else { return true }
                    state.idlers[idler] = continuation
                    return false
                }
                if isOver { continuation.resume() }
            }
        } onCancel: {
            state.withLock { $0.idlers.removeValue(forKey: idler) }?.resume()
        }
    }
}
