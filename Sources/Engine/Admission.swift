import Synchronization

/// Bounds how many messages are under way between their record and their last mark, and tells when none is.
final class Admission: Sendable {
    private struct State {
        var count = 0
        var waiting: [CheckedContinuation<Void, Never>] = []
        var idlers: [CheckedContinuation<Void, Never>] = []
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
                woken += state.idlers
                state.idlers = []
            }
            return woken
        }
        for continuation in woken { continuation.resume() }
    }

    var count: Int { state.withLock { $0.count } }

    /// Lets go of whoever waits for nothing to be under way.
    func releaseIdlers() {
        let idlers = state.withLock { state in
            defer { state.idlers = [] }
            return state.idlers
        }
        for continuation in idlers { continuation.resume() }
    }

    /// Returns when nothing is under way, or when `releaseIdlers` is called.
    func waitUntilIdle() async {
        await withCheckedContinuation { continuation in
            let isIdle = state.withLock { state in
                guard state.count > 0 else { return true }
                state.idlers.append(continuation)
                return false
            }
            if isIdle { continuation.resume() }
        }
    }
}
