public import Synchronization

/// State behind a lock, and the tasks that wait for it.
///
/// A cancelled wait returns immediately and never consumes a value. The other primitives in this target add a few lines of rules to this
/// monitor, so that they behave alike. Waiters are retried in FIFO order.
///
/// The type is public and inlinable, because other modules would otherwise run its generic code unspecialised for each message.
public final class Monitor<State: Sendable>: Sendable {
    /// A waiting task. The attempt returns the closure that resumes the task outside the lock, or nil.
    @usableFromInline typealias Waiter = (
        number: UInt64, attempt: @Sendable (inout State) -> (@Sendable () -> Void)?, cancel: @Sendable () -> Void
    )
    @usableFromInline typealias Content = (state: State, waiters: [Waiter], lastNumber: UInt64)

    @usableFromInline let content: Mutex<Content>

    @inlinable public init(_ state: State) {
        content = Mutex((state: state, waiters: [], lastNumber: 0))
    }

    @inlinable public func read<Result: Sendable>(_ body: (State) -> Result) -> Result {
        content.withLock { body($0.state) }
    }

    /// Changes the state, and resumes the waiting tasks whose attempts now succeed.
    @inlinable public func update<Result: Sendable>(_ change: (inout State) -> Result) -> Result {
        let (result, resumptions) = content.withLock { content in
            let result = change(&content.state)
            var resumptions: [@Sendable () -> Void] = []
            var index = 0
            while index < content.waiters.count {
                if let resume = content.waiters[index].attempt(&content.state) {
                    resumptions.append(resume)
                    content.waiters.remove(at: index)
                } else {
                    index += 1
                }
            }
            return (result, resumptions)
        }
        for resume in resumptions { resume() }
        return result
    }

    /// Returns when the state meets a condition, or when the task is cancelled.
    @inlinable public func wait(until condition: @escaping @Sendable (State) -> Bool) async {
        _ = await wait(for: { condition($0) ? () : nil })
    }

    /// Waits until an attempt succeeds. The first attempt takes place now, and another after each change.
    ///
    /// - Parameter attempt: Takes a value from the state and returns it, or nil if there is nothing to take.
    /// - Returns: The value, or nil if the task was cancelled first. The state is unchanged then.
    @inlinable public func wait<Result: Sendable>(for attempt: @escaping @Sendable (inout State) -> Result?) async -> Result? {
        let (taken, number) = content.withLock { content -> (Result?, UInt64) in
            content.lastNumber += 1
            return (attempt(&content.state), content.lastNumber)
        }
        if let taken { return taken }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let (isOver, taken) = content.withLock { content -> (Bool, Result?) in
                    // The check is under the lock, so that a later cancellation finds the waiter.
                    guard !Task.isCancelled else { return (true, nil) }
                    if let taken = attempt(&content.state) { return (true, taken) }
                    content.waiters.append(
                        (
                            number: number,
                            attempt: { state in
                                guard let taken = attempt(&state) else { return nil }
                                return { continuation.resume(returning: taken) }
                            },
                            cancel: { continuation.resume(returning: nil) }
                        ))
                    return (false, nil)
                }
                if isOver { continuation.resume(returning: taken) }
            }
        } onCancel: {
            let waiter = content.withLock { content in
                content.waiters.firstIndex { $0.number == number }.map { content.waiters.remove(at: $0) }
            }
            waiter?.cancel()
        }
    }
}
