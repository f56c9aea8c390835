public import DequeModule

/// A queue between two stages: any number of senders and takers, first in, first out, taken in batches.
///
/// A batch is what has gathered since the taker last asked, so it grows by itself when the taker is slow. Where it is quick, and each
/// batch has its price, it can be told to let some gather (``gather(atLeast:)``).
/// The queue is unbounded; what may be under way at all is bounded where it enters, by a ``ConcurrencyLimiter``.
///
/// Public and inlinable, as ``Monitor`` is.
public final class BatchQueue<Element: Sendable>: Sendable {
    @usableFromInline struct State: Sendable {
        @usableFromInline var elements: Deque<Element> = []
        /// Those of the elements that somebody waits for.
        @usableFromInline var urgentCount = 0
        /// With fewer that are urgent, none is given out.
        @usableFromInline var minimumCount = 0
        @usableFromInline var isFinished = false

        @inlinable var isReady: Bool { isFinished || !elements.isEmpty && urgentCount >= minimumCount }
    }

    @usableFromInline let state = Monitor(State())
    @usableFromInline let isUrgent: @Sendable (Element) -> Bool

    /// - Parameter isUrgent: whether somebody waits for the element; others go along when it comes to gathering.
    @inlinable public init(isUrgent: @escaping @Sendable (Element) -> Bool = { _ in true }) {
        self.isUrgent = isUrgent
    }

    @inlinable public func send(_ element: Element) { send([element]) }

    /// Ignored once the queue is finished: whoever sends keeps what matters elsewhere.
    @inlinable public func send(_ elements: [Element]) {
        guard !elements.isEmpty else { return }
        let urgentCount = elements.count(where: isUrgent)
        state.update { state in
            guard !state.isFinished else { return }
            state.elements.append(contentsOf: elements)
            state.urgentCount += urgentCount
        }
    }

    /// The next batch, 1 to `maximumCount` elements; nil when the queue is finished and empty, or the task is cancelled.
    @inlinable public func next(maximumCount: Int) async -> [Element]? {
        let batch = await state.wait { $0.isReady ? self.take(maximumCount, from: &$0) : nil }
        return batch.flatMap { $0.isEmpty ? nil : $0 }
    }

    /// Moves elements out, one by one: copying a slice would retain and release each of their parts.
    @inlinable func take(_ maximumCount: Int, from state: inout State) -> [Element] {
        var batch: [Element] = []
        batch.reserveCapacity(min(maximumCount, state.elements.count))
        while batch.count < maximumCount, let element = state.elements.popFirst() { batch.append(element) }
        state.urgentCount -= batch.count(where: isUrgent)
        return batch
    }

    /// Lets so many urgent elements gather before any is given out; 0: none. Whoever asks for some knows that they are coming.
    @inlinable public func gather(atLeast count: Int) {
        state.update { $0.minimumCount = count }
    }

    /// Lets no more elements in; takers get what is left, then nil.
    @inlinable public func finish() {
        state.update { $0.isFinished = true }
    }
}
