import Foundation
import Synchronization

/// Lines of text that come in, and that can be waited for.
package final class Lines: Sendable {
    private struct State {
        var lines: [String] = []
        var partial: [UInt8] = []
        var hasEnded = false
        /// Rises with every change.
        var generation = 0
        var lastWaiter = 0
        var waiters: [Int: CheckedContinuation<Void, Never>] = [:]
    }

    private let state = Mutex(State())

    init() {}

    /// All so far, without their ends.
    package var all: [String] { state.withLock { $0.lines } }

    /// - Parameter bytes: what was read; none at the end.
    func append(_ bytes: some Collection<UInt8>) {
        let woken = state.withLock { state in
            state.hasEnded = state.hasEnded || bytes.isEmpty
            state.partial += bytes
            let parts = state.partial.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
            state.lines += parts.dropLast().map { String(decoding: $0, as: UTF8.self) }
            state.partial = parts.last.map { [UInt8]($0) } ?? []
            if state.hasEnded, !state.partial.isEmpty {
                state.lines.append(String(decoding: state.partial, as: UTF8.self))
                state.partial = []
            }
            state.generation += 1
            defer { state.waiters = [:] }
            return Array(state.waiters.values)
        }
        for continuation in woken { continuation.resume() }
    }

    /// Waits for a line.
    ///
    /// - Returns: false when the end came before it, or the task was cancelled.
    package func wait(for predicate: @Sendable (String) -> Bool) async -> Bool {
        await wait { $0.lines.contains(where: predicate) ? true : $0.hasEnded ? false : nil }
    }

    /// Waits until there are so many lines.
    ///
    /// - Returns: false when the end came before that, or the task was cancelled.
    package func wait(count: Int) async -> Bool {
        await wait { $0.lines.count >= count ? true : $0.hasEnded ? false : nil }
    }

    /// Waits until no more lines will come, or the task is cancelled.
    package func waitForEnd() async {
        _ = await wait { $0.hasEnded ? true : nil }
    }

    private func wait(until verdict: (State) -> Bool?) async -> Bool {
        while true {
            let (verdict, generation) = state.withLock { (verdict($0), $0.generation) }
            if let verdict { return verdict }
            guard !Task.isCancelled else { return false }
            await change(since: generation)
        }
    }

    private func change(since generation: Int) async {
        let waiter = state.withLock { state in
            state.lastWaiter += 1
            return state.lastWaiter
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                // Asked under the lock: a cancellation from here on finds the waiter.
                let isOver = state.withLock { state in
                    guard state.generation == generation, !Task.isCancelled else { return true }
                    state.waiters[waiter] = continuation
                    return false
                }
                if isOver { continuation.resume() }
            }
        } onCancel: {
            state.withLock { $0.waiters.removeValue(forKey: waiter) }?.resume()
        }
    }
}
