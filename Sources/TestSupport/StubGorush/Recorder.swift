import Synchronization

/// What a stub saw, in order; a test can wait until there is enough of it.
package final class Recorder<Element: Sendable>: Sendable {
    private struct Waiter {
        let count: Int
        let continuation: CheckedContinuation<Void, Never>
    }

    private struct State {
        var elements: [Element] = []
        var waiters: [Int: Waiter] = [:]
        var lastWaiter = 0

        mutating func removeWaiters(where isDone: (Waiter) -> Bool) -> [Waiter] {
            let done = waiters.filter { isDone($0.value) }
            for key in done.keys { waiters[key] = nil }
            return Array(done.values)
        }
    }

    private let state = Mutex(State())

    package init() {}

    package var all: [Element] { state.withLock { $0.elements } }

    package func append(contentsOf elements: some Sequence<Element>) {
        let done = state.withLock { state in
            state.elements.append(contentsOf: elements)
            let count = state.elements.count
            return state.removeWaiters { $0.count <= count }
        }
        for waiter in done { waiter.continuation.resume() }
    }

    package func append(_ element: Element) {
        append(contentsOf: CollectionOfOne(element))
    }

    /// Returns when there are at least so many elements, or the task is cancelled.
    ///
    /// - Returns: all there are by then.
    @discardableResult
    package func wait(for count: Int) async -> [Element] {
        await reach(count)
        return all
    }

    /// Returns when there are more than so many elements, or the task is cancelled.
    ///
    /// - Returns: those beyond, and no others: whoever holds all makes the next to be added copy all.
    package func next(after count: Int) async -> [Element] {
        await reach(count + 1)
        return state.withLock { Array($0.elements.dropFirst(count)) }
    }

    private func reach(_ count: Int) async {
        let key = state.withLock { state in
            state.lastWaiter += 1
            return state.lastWaiter
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isDone = state.withLock { state in
                    guard state.elements.count < count, !Task.isCancelled else { return true }
                    state.waiters[key] = Waiter(count: count, continuation: continuation)
                    return false
                }
                if isDone { continuation.resume() }
            }
        } onCancel: {
            state.withLock { $0.waiters.removeValue(forKey: key) }?.continuation.resume()
        }
    }
}
