import Synchronization

/// Lets one task pass at a time, in the order in which they came.
final class Turnstile: Sendable {
    private let state = Mutex(State())

    private struct State {
        var isTaken = false
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    func pass<Value>(_ body: () async throws -> Value) async rethrows -> Value {
        await enter()
        defer { leave() }
        return try await body()
    }

    private func enter() async {
        await withCheckedContinuation { continuation in
            let isFree = state.withLock { state in
                defer { state.isTaken = true }
                if state.isTaken { state.waiting.append(continuation) }
                return !state.isTaken
            }
            if isFree { continuation.resume() }
        }
    }

    private func leave() {
        let next = state.withLock { state in
            let next = state.waiting.isEmpty ? nil : state.waiting.removeFirst()
            state.isTaken = next != nil
            return next
        }
        next?.resume()
    }
}
