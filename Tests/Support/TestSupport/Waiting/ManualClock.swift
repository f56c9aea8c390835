package import Envelope
import Synchronization

/// A clock that stands still until it is advanced by hand, and that says who waits until when: tests with time, without waiting.
package final class ManualClock: Clock {
    package struct Instant: InstantProtocol {
        /// Since the clock was made.
        package var offset: Duration

        package func advanced(by duration: Duration) -> Instant { Instant(offset: offset + duration) }
        package func duration(to other: Instant) -> Duration { other.offset - offset }
        package static func < (left: Instant, right: Instant) -> Bool { left.offset < right.offset }
    }

    private struct Sleeper {
        var deadline: Instant
        var continuation: CheckedContinuation<Void, any Error>
    }

    private struct State {
        var now = Instant(offset: .zero)
        var sleepers: [UInt64: Sleeper] = [:]
        var lastIdentifier: UInt64 = 0

        /// How long each sleeper has still to wait, the shortest first.
        var remaining: [Duration] { sleepers.values.map { now.duration(to: $0.deadline) }.sorted() }
    }

    private let state = Condition(State())

    package init() {}

    package var now: Instant { state.read(\.now) }
    package var minimumResolution: Duration { .zero }

    // MARK: Sleeping

    package func sleep(until deadline: Instant, tolerance: Duration?) async throws {
        let identifier = state.change { state in
            state.lastIdentifier += 1
            return state.lastIdentifier
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                fallAsleep(identifier, Sleeper(deadline: deadline, continuation: continuation))
            }
        } onCancel: {
            let sleeper = state.change { $0.sleepers.removeValue(forKey: identifier) }
            sleeper?.continuation.resume(throwing: CancellationError())
        }
    }

    private func fallAsleep(_ identifier: UInt64, _ sleeper: Sleeper) {
        // Asked under the lock: a cancellation from here on finds the sleeper.
        let (isCancelled, isOver) = state.change { state in
            guard !Task.isCancelled else { return (true, false) }
            guard sleeper.deadline > state.now else { return (false, true) }
            state.sleepers[identifier] = sleeper
            return (false, false)
        }
        if isCancelled { sleeper.continuation.resume(throwing: CancellationError()) }
        if isOver { sleeper.continuation.resume() }
    }

    // MARK: Passing

    /// Moves the time and wakes whoever has slept long enough, in the order of their deadlines.
    package func advance(by duration: Duration) {
        move { $0.advanced(by: duration) }
    }

    /// The same up to a moment, unless it is over already.
    package func advance(to instant: Instant) {
        move { max($0, instant) }
    }

    private func move(_ target: @Sendable (Instant) -> Instant) {
        let awake = state.change { state in
            state.now = target(state.now)
            let due = state.sleepers.filter { $0.value.deadline <= state.now }
            for identifier in due.keys { state.sleepers[identifier] = nil }
            return due.values.sorted { $0.deadline < $1.deadline }
        }
        for sleeper in awake { sleeper.continuation.resume() }
    }

    // MARK: Who waits

    /// How long each task that sleeps on this clock has still to wait, the shortest first.
    package var sleepers: [Duration] { state.read(\.remaining) }

    /// Returns when for each of these durations another task sleeps that is due after exactly so long, or when the waiting task is
    /// cancelled. Others may sleep too.
    package func sleepers(dueIn durations: Duration...) async {
        await sleepers(dueIn: durations)
    }

    /// The same for a list.
    package func sleepers(dueIn durations: [Duration]) async {
        await sleepers { remaining in
            var remaining = remaining
            return durations.allSatisfy { duration in
                guard let index = remaining.firstIndex(of: duration) else { return false }
                remaining.remove(at: index)
                return true
            }
        }
    }

    /// Returns when those who sleep on this clock are as wanted, or the waiting task is cancelled: for delays that are drawn by chance.
    ///
    /// - Parameter isSo: gets what ``sleepers`` has.
    package func sleepers(until isSo: @escaping @Sendable ([Duration]) -> Bool) async {
        await state.wait { isSo($0.remaining) }
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
