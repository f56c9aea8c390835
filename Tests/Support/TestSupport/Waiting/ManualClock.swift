package import Envelope
import Synchronization

/// A clock that tests advance by hand, and that reports its sleepers and their deadlines. Tests with time need no waiting.
package final class ManualClock: Clock {
    package struct Instant: InstantProtocol {
        /// The time since the creation of the clock.
        package var offset: Duration

        package func advanced(by duration: Duration) -> Instant { Instant(offset: offset + duration) }
        package func duration(to other: Instant) -> Duration { other.offset - offset }
        package static func < (left: Instant, right: Instant) -> Bool { left.offset < right.offset }
    }

    private struct Sleeper {
        var deadline: Instant
        var continuation: CheckedContinuation<Void, any Error>
    }

    private struct State: CustomStringConvertible {
        var now = Instant(offset: .zero)
        var sleepers: [UInt64: Sleeper] = [:]
        var lastIdentifier: UInt64 = 0

        /// The remaining time of each sleeper, the shortest first.
        var remaining: [Duration] { sleepers.values.map { now.duration(to: $0.deadline) }.sorted() }

        var description: String { "sleepers due in \(remaining)" }
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
        // The check is under the lock. A later cancellation finds the sleeper.
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

    /// Advances the time and wakes the sleepers whose deadlines have passed, in the order of their deadlines.
    package func advance(by duration: Duration) {
        move { $0.advanced(by: duration) }
    }

    /// Advances the time to an instant, unless that has passed.
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

    // MARK: Sleepers

    /// The remaining time of each task that sleeps on this clock, the shortest first.
    package var sleepers: [Duration] { state.read(\.remaining) }

    /// Waits until a separate task sleeps for exactly each of these durations, or until the waiting task is cancelled. Other tasks may
    /// sleep too.
    package func sleepers(dueIn durations: Duration..., file: StaticString = #fileID, line: Int = #line) async {
        await sleepers(dueIn: durations, file: file, line: line)
    }

    /// Waits for sleepers like the other overload, for a list of durations.
    package func sleepers(dueIn durations: [Duration], file: StaticString = #fileID, line: Int = #line) async {
        await sleepers(
            until: { remaining in
                var remaining = remaining
                return durations.allSatisfy { duration in
                    guard let index = remaining.firstIndex(of: duration) else { return false }
                    remaining.remove(at: index)
                    return true
                }
            }, file: file, line: line)
    }

    /// Waits until the sleepers meet a condition, or until the waiting task is cancelled. Tests use it for random delays.
    ///
    /// - Parameter isSo: A function of the value of ``sleepers``.
    package func sleepers(
        until isSo: @escaping @Sendable ([Duration]) -> Bool, file: StaticString = #fileID, line: Int = #line
    ) async {
        await state.wait(until: { isSo($0.remaining) }, file: file, line: line)
    }
}

/// A value with a manual clock of each kind.
package protocol ManuallyClocked {
    var clock: ManualClock { get }
    var wallClock: ManualWallClock { get }
}

extension ManuallyClocked {
    /// Advances both clocks.
    package func advance(by duration: Duration) {
        wallClock.advance(by: duration)
        clock.advance(by: duration)
    }
}

/// A wall clock that shows the time that a test sets.
package final class ManualWallClock: Sendable {
    private let reading: Mutex<ClockReading>

    package init(_ time: Timestamp) {
        reading = Mutex(ClockReading(now: time))
    }

    /// The clock for the code under test.
    package var clock: WallClock { WallClock(read: { self.reading.withLock { $0 } }) }

    package var now: Timestamp { reading.withLock(\.now) }

    package func set(_ time: Timestamp) {
        reading.withLock { $0.now = time }
    }

    package func advance(by duration: Duration) {
        reading.withLock { reading in
            reading.now = reading.now.advanced(by: duration)
            reading.expected = reading.expected?.advanced(by: duration)
            reading.beforeStep = reading.beforeStep?.advanced(by: duration)
        }
    }

    /// Makes a step, which is in doubt until ``settle()``.
    package func step(by duration: Duration) {
        reading.withLock { reading in
            reading.expected = reading.expected ?? reading.now
            reading.now = reading.now.advanced(by: duration)
        }
    }

    /// Ends the doubt: the clock is right.
    package func settle() {
        reading.withLock { ($0.expected, $0.beforeStep) = (nil, nil) }
    }

    /// Ends the doubt: the step ahead counts.
    package func believe() {
        reading.withLock { ($0.expected, $0.beforeStep) = (nil, $0.expected) }
    }
}
