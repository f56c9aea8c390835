import Synchronization

/// A broadcaster that delivers each element to all subscribers.
package final class Broadcast<Element: Sendable>: Sendable {
    private struct State {
        var listeners: [Int: AsyncStream<Element>.Continuation] = [:]
        var lastNumber = 0
    }

    private let state = Mutex(State())

    package init() {}

    deinit {
        for continuation in state.withLock({ $0.listeners.values.map { $0 } }) { continuation.finish() }
    }

    /// Returns the elements sent from now on, and keeps up to `count` of them for a slow subscriber.
    package func subscribe(bufferingNewest count: Int) -> AsyncStream<Element> {
        let (stream, continuation) = AsyncStream.makeStream(of: Element.self, bufferingPolicy: .bufferingNewest(count))
        let number = state.withLock { state in
            state.lastNumber += 1
            state.listeners[state.lastNumber] = continuation
            return state.lastNumber
        }
        continuation.onTermination = { [weak self] _ in self?.remove(number) }
        return stream
    }

    private func remove(_ number: Int) {
        _ = state.withLock { $0.listeners.removeValue(forKey: number) }
    }

    package func send(_ element: Element) {
        for continuation in state.withLock({ $0.listeners.values.map { $0 } }) { continuation.yield(element) }
    }
}
