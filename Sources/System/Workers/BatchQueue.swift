public import DequeModule
public import Tasks

/// A queue between two stages: any number of senders and takers, first in, first out, taken in batches.
///
/// A batch holds the elements since the taker's last call, and grows by itself when the taker is slow. The queue is unbounded: the
/// admission bounds the work in progress.
///
/// Public and inlinable, as ``Monitor`` is.
public final class BatchQueue<Element: Sendable>: Sendable {
    @usableFromInline struct State: Sendable {
        @usableFromInline var elements: Deque<Element> = []
        @usableFromInline var isFinished = false
    }

    @usableFromInline let state = Monitor(State())

    @inlinable public init() {}

    @inlinable public func send(_ element: Element) { send([element]) }

    /// Adds elements. Ignores them once the queue is finished.
    @inlinable public func send(_ elements: [Element]) {
        guard !elements.isEmpty else { return }
        state.update { state in
            if !state.isFinished { state.elements.append(contentsOf: elements) }
        }
    }

    /// Waits for the next batch.
    ///
    /// - Returns: 1 to `maximumCount` elements, or nil when the queue is finished and empty, or the task is cancelled.
    @inlinable public func next(maximumCount: Int) async -> [Element]? {
        let batch = await state.wait { state in
            state.isFinished || !state.elements.isEmpty ? Self.take(maximumCount, from: &state.elements) : nil
        }
        return batch.flatMap { $0.isEmpty ? nil : $0 }
    }

    /// Moves each element out separately, because copying a slice would retain and release all their parts.
    @inlinable static func take(_ maximumCount: Int, from elements: inout Deque<Element>) -> [Element] {
        var batch: [Element] = []
        batch.reserveCapacity(min(maximumCount, elements.count))
        while batch.count < maximumCount, let element = elements.popFirst() { batch.append(element) }
        return batch
    }

    /// Finishes the queue. Takers get the remaining elements, then nil.
    @inlinable public func finish() {
        state.update { $0.isFinished = true }
    }
}
