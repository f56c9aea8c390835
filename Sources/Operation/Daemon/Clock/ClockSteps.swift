import Envelope
import Store

/// Finds the steps of the wall clock: a state machine that compares each reading with the last one and the time that has passed since.
///
/// After a step both times stand, until the server has run for ten minutes and the step is believed, or until the clock is back.
struct ClockSteps {
    /// A state change, for the log.
    enum Change: Equatable {
        /// The clock shows something else than was expected.
        case stepped
        /// The step has lasted, and counts.
        case believed
        /// The clock is back.
        case returned
    }

    /// More than the time service corrects a running clock by, and less than the shortest lifetime, which is a day.
    static let tolerance = Duration.seconds(3_600)
    /// A step is believed after this time, which is longer than an operator or the time service needs to correct a mistake.
    static let confirmationTime = Duration.seconds(600)

    private struct Step {
        /// What the clock shows, less the monotonic time.
        var offset: Duration
        /// How long earlier runs of the server have seen it, and the monotonic time since which this one has.
        var heldBefore: Duration
        var since: Duration

        func heldFor(at elapsed: Duration) -> Duration { heldBefore + elapsed - since }
    }

    /// The clock of the last run, until the first reading.
    private var stored: StoredClock?
    /// The believed time less the monotonic time, or nil before the first reading of a new database.
    private var offset: Duration?
    private var step: Step?

    /// - Parameter stored: The clock of the last run, or nil for a new database.
    init(after stored: StoredClock? = nil) {
        self.stored = stored
    }

    /// Takes a reading.
    ///
    /// - Parameters:
    ///   - time: What the wall clock shows.
    ///   - elapsed: The monotonic time since the start.
    /// - Returns: The reading with what is in doubt, and the change to log.
    mutating func read(_ time: Timestamp, at elapsed: Duration) -> (reading: ClockReading, change: Change?) {
        let shown = Duration.nanoseconds(time.nanoseconds) - elapsed
        if let stored { resume(stored, shown, at: elapsed) }
        stored = nil
        let change = update(shown, at: elapsed)
        let expected = step == nil ? nil : offset.map { Timestamp(nanoseconds: 0).advanced(by: $0 + elapsed) }
        return (ClockReading(now: time, expected: expected), change)
    }

    /// The clock to store.
    func stored(_ reading: ClockReading, at elapsed: Duration) -> StoredClock {
        StoredClock(readAt: reading.now, expectedAt: reading.expected, heldFor: step?.heldFor(at: elapsed) ?? .zero)
    }

    /// Continues the last run. Its last reading is the newest proof of the time, because nothing tells how long the server was away. A
    /// step that it has not believed goes on if the clock still shows about the same.
    private mutating func resume(_ stored: StoredClock, _ shown: Duration, at elapsed: Duration) {
        let lastShown = Duration.nanoseconds(stored.readAt.nanoseconds) - elapsed
        let expected = Duration.nanoseconds((stored.expectedAt ?? stored.readAt).nanoseconds) - elapsed
        offset = expected
        guard stored.expectedAt != nil, Self.isClose(shown, lastShown) else { return }
        offset = expected + shown - lastShown
        step = Step(offset: shown, heldBefore: min(max(.zero, stored.heldFor), Self.confirmationTime), since: elapsed)
    }

    private mutating func update(_ shown: Duration, at elapsed: Duration) -> Change? {
        guard let offset, !Self.isClose(shown, offset) else {
            self.offset = shown
            defer { step = nil }
            return step == nil ? nil : .returned
        }
        guard let step, Self.isClose(shown, step.offset) else {
            self.step = Step(offset: shown, heldBefore: .zero, since: elapsed)
            return .stepped
        }
        guard step.heldFor(at: elapsed) >= Self.confirmationTime else { return nil }
        self.offset = shown
        self.step = nil
        return .believed
    }

    private static func isClose(_ one: Duration, _ other: Duration) -> Bool {
        (.zero - tolerance...tolerance).contains(one - other)
    }
}
