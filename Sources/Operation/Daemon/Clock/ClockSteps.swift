import Envelope
import PushProtocol
import Store

/// Finds the steps of the wall clock: a state machine that compares each reading with the last one and the time that has passed since.
///
/// After a step both times stand, until the server has run for ten minutes and the step is believed, or until the clock is back. After a
/// step ahead, the pruning follows the time before it for two days more: a clock that was wrong for a night deletes nothing.
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
    /// As long after a step ahead nothing is pruned by it. No row that is needed against repetitions lives longer.
    static let pruningDelay = ProtocolLimits.decidedMessageLifetime

    private struct Step {
        /// What the clock shows with the step, or would show without it, less the monotonic time.
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
    /// The newest steps ahead that are believed, by what the clock would show without them.
    private var believed: Step?

    /// - Parameter stored: The clock of the last run, or nil for a new database.
    init(after stored: StoredClock? = nil) {
        self.stored = stored
    }

    /// Takes a reading.
    ///
    /// - Parameters:
    ///   - shownTime: What the wall clock shows.
    ///   - elapsed: The monotonic time since the start.
    /// - Returns: The reading with what is in doubt, and the change to log.
    mutating func read(_ shownTime: Timestamp, at elapsed: Duration) -> (reading: ClockReading, change: Change?) {
        let shown = Duration.nanoseconds(shownTime.nanoseconds) - elapsed
        if let stored { resume(stored, shown, at: elapsed) }
        stored = nil
        let change = update(shown, at: elapsed)
        if let believed, believed.heldFor(at: elapsed) >= Self.pruningDelay || believed.offset >= shown { self.believed = nil }
        func time(_ offset: Duration) -> Timestamp { Timestamp(nanoseconds: 0).advanced(by: offset + elapsed) }
        let expected = step == nil ? nil : offset.map(time)
        return (ClockReading(now: shownTime, expected: expected, beforeStep: believed.map { time($0.offset) }), change)
    }

    /// The clock to store.
    func stored(_ reading: ClockReading, at elapsed: Duration) -> StoredClock {
        StoredClock(
            readAt: reading.now, expectedAt: reading.expected ?? reading.beforeStep,
            heldFor: (step ?? believed)?.heldFor(at: elapsed) ?? .zero)
    }

    /// Continues the last run. Its last reading is the newest proof of the time, because nothing tells how long the server was away. A
    /// step that it has not believed goes on if the clock still shows about the same.
    private mutating func resume(_ stored: StoredClock, _ shown: Duration, at elapsed: Duration) {
        let lastShown = Duration.nanoseconds(stored.readAt.nanoseconds) - elapsed
        var expected = Duration.nanoseconds((stored.expectedAt ?? stored.readAt).nanoseconds) - elapsed
        if Self.isClose(shown, lastShown) { expected += shown - lastShown }
        let isBelieved = stored.heldFor >= Self.confirmationTime
        offset = isBelieved ? lastShown : expected
        guard stored.expectedAt != nil else { return }
        if isBelieved {
            believed = Step(offset: expected, heldBefore: min(stored.heldFor, Self.pruningDelay), since: elapsed)
        } else if Self.isClose(shown, lastShown) {
            step = Step(offset: shown, heldBefore: max(.zero, stored.heldFor), since: elapsed)
        }
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
        believed = Step(offset: min(offset, believed?.offset ?? offset), heldBefore: step.heldBefore, since: step.since)
        self.offset = shown
        self.step = nil
        return .believed
    }

    private static func isClose(_ one: Duration, _ other: Duration) -> Bool {
        (.zero - tolerance...tolerance).contains(one - other)
    }
}
