import DequeModule

/// A queue between two stages: any number of senders and takers, first in, first out, taken in batches.
///
/// A batch is what has gathered since the taker last asked, so it grows by itself when the taker is slow. Where it is quick, and each
/// batch has its price, it can be told to let some gather (``gather(atLeast:)``).
/// The queue is unbounded; what may be under way at all is bounded where it enters, by a ``ConcurrencyLimiter``.
package final class BatchQueue<Element: Sendable>: Sendable {
    private struct State: Sendable {
        var elements: Deque<Element> = []
        /// Fewer are not given out.
        var minimumCount = 1
        var isFinished = false

        var isReady: Bool { isFinished || elements.count >= minimumCount }

        /// Moves elements out, one by one: copying a slice would retain and release each of their parts.
        mutating func take(_ maximumCount: Int) -> [Element] {
            var batch: [Element] = []
            batch.reserveCapacity(min(maximumCount, elements.count))
            while batch.count < maximumCount, let element = elements.popFirst() { batch.append(element) }
            return batch
        }
    }

    private let state = Monitor(State())

    package init() {}

    package func send(_ element: Element) {
        state.update { if !$0.isFinished { $0.elements.append(element) } }
    }

    /// Ignored once the queue is finished: whoever sends keeps what matters elsewhere.
    package func send(_ elements: [Element]) {
        guard !elements.isEmpty else { return }
        state.update { if !$0.isFinished { $0.elements.append(contentsOf: elements) } }
    }

    /// The next batch, 1 to `maximumCount` elements; nil when the queue is finished and empty, or the task is cancelled.
    package func next(maximumCount: Int) async -> [Element]? {
        let batch = await state.wait { $0.isReady ? $0.take(maximumCount) : nil }
        return batch.flatMap { $0.isEmpty ? nil : $0 }
    }

    /// Lets so many elements gather, 1 or more, before any is given out. Whoever asks for more than one knows that they are coming.
    package func gather(atLeast count: Int) {
        state.update { $0.minimumCount = count }
    }

    /// Lets no more elements in; takers get what is left, then nil.
    package func finish() {
        state.update { $0.isFinished = true }
    }
}
