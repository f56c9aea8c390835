import Synchronization

/// A changing value. Tests wait for a state of the value, not for a time.
package final class Condition<Value: Sendable>: Sendable {
    private struct Waiter {
        let isMet: @Sendable (Value) -> Bool
        let continuation: CheckedContinuation<Bool, Never>
    }

    private struct State {
        var value: Value
        var waiters: [Int: Waiter] = [:]
        var lastWaiter = 0
    }

    /// As much of a value as the message of a test that hangs shows.
    private static var longestText: Int { 1_000 }

    private let state: Mutex<State>

    package init(_ value: Value) {
        state = Mutex(State(value: value))
    }

    package var value: Value { state.withLock { $0.value } }

    /// Reads the value in place. A caller that keeps a copy makes the next change copy the whole value.
    package func read<Result: Sendable>(_ body: (Value) -> Result) -> Result {
        state.withLock { body($0.value) }
    }

    @discardableResult
    package func change<Result: Sendable>(_ change: (inout Value) -> Result) -> Result {
        let (result, met) = state.withLock { state in
            let result = change(&state.value)
            let met = state.waiters.filter { $0.value.isMet(state.value) }
            for number in met.keys { state.waiters[number] = nil }
            return (result, met)
        }
        for waiter in met.values { waiter.continuation.resume(returning: true) }
        return result
    }

    /// Waits until the value meets the condition. The value may have changed again before the task continues.
    ///
    /// - Returns: false if the task was cancelled first.
    @discardableResult
    package func wait(
        until isMet: @escaping @Sendable (Value) -> Bool, file: StaticString = #fileID, line: Int = #line
    ) async -> Bool {
        if read(isMet) { return true }
        return await OpenWaits.during("\(file):\(line)", seeing: { "\(String(describing: self.value).prefix(Self.longestText))" }) {
            await waitForChange(until: isMet)
        }
    }

    private func waitForChange(until isMet: @escaping @Sendable (Value) -> Bool) async -> Bool {
        let number = state.withLock { state in
            state.lastWaiter += 1
            return state.lastWaiter
        }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                // The check is under the lock. A later cancellation finds the waiter.
                let answer: Bool? = state.withLock { state in
                    if isMet(state.value) { return true }
                    if Task.isCancelled { return false }
                    state.waiters[number] = Waiter(isMet: isMet, continuation: continuation)
                    return nil
                }
                if let answer { continuation.resume(returning: answer) }
            }
        } onCancel: {
            state.withLock { $0.waiters.removeValue(forKey: number) }?.continuation.resume(returning: false)
        }
    }
}
