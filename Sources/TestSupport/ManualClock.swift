package import Envelope
import Synchronization

/// A clock that stands still until it is advanced by hand: tests with time, without waiting.
package final class ManualClock: Clock {
    package struct Instant: InstantProtocol {
        var offset: Duration

        package func advanced(by duration: Duration) -> Instant { Instant(offset: offset + duration) }
        package func duration(to other: Instant) -> Duration { other.offset - offset }
        package static func < (left: Instant, right: Instant) -> Bool { left.offset < right.offset }
    }

    private struct Sleeper {
        var deadline: Instant
        var continuation: CheckedContinuation<Void, any Error>
    }

    private struct Watcher {
        var count: Int
        var continuation: CheckedContinuation<Void, Never>
    }

    private struct State {
        var now = Instant(offset: .zero)
        var sleepers: [UInt64: Sleeper] = [:]
        var watchers: [UInt64: Watcher] = [:]
        var lastIdentifier: UInt64 = 0
    }

    private let state = Mutex(State())

    package init() {}

    package var now: Instant { state.withLock(\.now) }
    package var minimumResolution: Duration { .zero }

    package func sleep(until deadline: Instant, tolerance: Duration?) async throws {
        let identifier = state.withLock { state in
            state.lastIdentifier += 1
            return state.lastIdentifier
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                fallAsleep(identifier, Sleeper(deadline: deadline, continuation: continuation))
            }
        } onCancel: {
            let sleeper = state.withLock { $0.sleepers.removeValue(forKey: identifier) }
            sleeper?.continuation.resume(throwing: CancellationError())
        }
    }

    private func fallAsleep(_ identifier: UInt64, _ sleeper: Sleeper) {
        // Asked under the lock: a cancellation from here on finds the sleeper.
        let (watchers, isCancelled, isOver) = state.withLock { state in
            guard !Task.isCancelled else { return ([Watcher](), true, false) }
            guard sleeper.deadline > state.now else { return ([Watcher](), false, true) }
            state.sleepers[identifier] = sleeper
            let awake = state.watchers.filter { $0.value.count <= state.sleepers.count }
            for identifier in awake.keys { state.watchers[identifier] = nil }
            return (Array(awake.values), false, false)
        }
        if isCancelled { sleeper.continuation.resume(throwing: CancellationError()) }
        if isOver { sleeper.continuation.resume() }
        for watcher in watchers { watcher.continuation.resume() }
    }

    /// Moves the time and wakes whoever has slept long enough, in the order of their deadlines.
    package func advance(by duration: Duration) {
        let awake = state.withLock { state in
            state.now = state.now.advanced(by: duration)
            let due = state.sleepers.filter { $0.value.deadline <= state.now }
            for identifier in due.keys { state.sleepers[identifier] = nil }
            return due.values.sorted { $0.deadline < $1.deadline }
        }
        for sleeper in awake { sleeper.continuation.resume() }
    }

    /// Waits until at least so many tasks sleep on this clock, or the waiting task is cancelled.
    package func sleepers(_ count: Int = 1) async {
        let identifier = state.withLock { state in
            state.lastIdentifier += 1
            return state.lastIdentifier
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                // Asked under the lock: a cancellation from here on finds the watcher.
                let isOver = state.withLock { state in
                    guard state.sleepers.count < count, !Task.isCancelled else { return true }
                    state.watchers[identifier] = Watcher(count: count, continuation: continuation)
                    return false
                }
                if isOver { continuation.resume() }
            }
        } onCancel: {
            state.withLock { $0.watchers.removeValue(forKey: identifier) }?.continuation.resume()
        }
    }
}

/// A wall clock that shows what it is set to.
package final class ManualWallClock: Sendable {
    private let time: Mutex<Timestamp>

    package init(_ time: Timestamp) {
        self.time = Mutex(time)
    }

    /// The clock to hand out.
    package var clock: WallClock { WallClock { self.now } }

    package var now: Timestamp { time.withLock { $0 } }

    package func set(_ time: Timestamp) {
        self.time.withLock { $0 = time }
    }

    package func advance(by duration: Duration) {
        time.withLock { $0 = $0.advanced(by: duration) }
    }
}
