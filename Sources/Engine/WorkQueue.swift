import Synchronization

/// The queue between two stages of the pipeline: any number of senders and takers, first in, first out, taken in batches.
///
/// A batch is what has gathered since the taker last asked, so it grows by itself under load: that is what makes one commit serve many.
/// The queue is unbounded; what may be under way at all is bounded once, at the entrance, by `Admission`.
final class WorkQueue<Element: Sendable>: Sendable {
    private struct State {
        /// Optionals, so that elements are moved out and not copied: they hold a dozen references each.
        var elements: [Element?] = []
        var head = 0
        var takers: [CheckedContinuation<Void, Never>] = []
        var isFinished = false

        var isEmpty: Bool { head == elements.count }

        mutating func take(_ maximumCount: Int) -> [Element] {
            let end = head + min(maximumCount, elements.count - head)
            var batch: [Element] = []
            batch.reserveCapacity(end - head)
            for index in head..<end {
                if let element = elements[index].take() { batch.append(element) }
            }
            head = end
            if isEmpty {
                elements.removeAll(keepingCapacity: true)
                head = 0
            } else if head > 1024, head * 2 > elements.count {
                elements.removeFirst(head)
                head = 0
            }
            return batch
        }
    }

    private let state = Mutex(State())

    func send(_ element: Element) {
        send([element])
    }

    /// Ignored once the queue is finished: what could not be handled stays recorded and is worked off at the next start.
    func send(_ elements: [Element]) {
        guard !elements.isEmpty else { return }
        let woken = state.withLock { state -> [CheckedContinuation<Void, Never>] in
            guard !state.isFinished else { return [] }
            for element in elements { state.elements.append(element) }
            let woken = Array(state.takers.prefix(elements.count))
            state.takers.removeFirst(woken.count)
            return woken
        }
        for taker in woken { taker.resume() }
    }

    /// The next batch, 1 to `maximumCount` elements, or nil when the queue is finished and empty.
    func next(maximumCount: Int) async -> [Element]? {
        while true {
            let (batch, isFinished) = state.withLock { ($0.take(maximumCount), $0.isFinished) }
            if !batch.isEmpty { return batch }
            if isFinished { return nil }
            await withCheckedContinuation { continuation in
                let isReady = state.withLock { state in
                    guard state.isEmpty, !state.isFinished else { return true }
                    state.takers.append(continuation)
                    return false
                }
                if isReady { continuation.resume() }
            }
        }
    }

    /// No more elements will come; takers get what is left, then nil.
    func finish() {
        let takers = state.withLock { state in
            state.isFinished = true
            defer { state.takers = [] }
            return state.takers
        }
        for taker in takers { taker.resume() }
    }
}
