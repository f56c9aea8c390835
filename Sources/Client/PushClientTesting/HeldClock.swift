import Tasks

/// A clock that stands still until it is advanced, and knows who sleeps on it.
package final class HeldClock: Clock {
    private struct State {
        var now = Duration.zero
        var deadlines: [Int: Duration] = [:]
        var lastSleeper = 0
        var isReleased = false
    }

    private let state = Monitor(State())

    init() {}

    package var now: TestClock.Instant { TestClock.Instant(offset: state.read(\.now)) }
    package var minimumResolution: Duration { .zero }

    package func sleep(until deadline: TestClock.Instant, tolerance: Duration?) async throws {
        let number = state.update { state in
            state.lastSleeper += 1
            return state.lastSleeper
        }
        let isOver: Void? = await withTaskCancellationHandler {
            // A cancelled task does not count as a sleeper, not even for a moment. A later cancellation removes it.
            state.update { if !Task.isCancelled { $0.deadlines[number] = deadline.offset } }
            return await state.wait { state in
                if state.isReleased { state.now = max(state.now, deadline.offset) }
                guard state.now >= deadline.offset else { return nil }
                state.deadlines[number] = nil
                return ()
            }
        } onCancel: {
            state.update { $0.deadlines[number] = nil }
        }
        if isOver == nil { throw CancellationError() }
    }

    /// Makes the time advance to each sleeper's deadline, or stand still again.
    func setReleased(_ isReleased: Bool) { state.update { $0.isReleased = isReleased } }

    /// Whether a task sleeps.
    var hasSleepers: Bool { state.read { !$0.deadlines.isEmpty } }

    package func advance(by duration: Duration) { state.update { $0.now += duration } }

    /// Advances the time to an instant, unless that has passed.
    func advance(to instant: TestClock.Instant) { state.update { $0.now = max($0.now, instant.offset) } }

    /// Waits until a task sleeps that is due after exactly this duration.
    package func sleepers(dueIn duration: Duration) async {
        await state.wait { state in state.deadlines.values.contains(state.now + duration) ? () : nil }
    }

    /// Waits until a task sleeps, and returns the first deadline.
    func firstDeadline() async -> TestClock.Instant? {
        await state.wait { state in state.deadlines.values.filter { $0 > state.now }.min().map(TestClock.Instant.init) }
    }
}
