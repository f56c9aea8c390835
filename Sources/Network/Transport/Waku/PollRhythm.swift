import Envelope

/// Whether a topic's polls come at their interval. If they do not, this process was stopped, or the node hung, and what the store has
/// beyond the polls' messages accuses nobody: no other reader, and no small cache.
struct PollRhythm {
    /// The longest time between two polls, in intervals. Shorter than ``minimumPause`` is never a pause.
    static let maximumIntervalCount = 10
    /// The machine was busy, or a response was long.
    static let minimumPause = Duration.seconds(5)

    private let maximumInterval: Duration
    /// The last poll, on the monotonic clock.
    private var lastPoll: Duration?
    /// When a poll last came after a pause, on the wall clock, like the windows of a comparison.
    private var lastPauseEnd: Timestamp?

    init(interval: Duration) {
        maximumInterval = max(interval * Self.maximumIntervalCount, Self.minimumPause)
    }

    /// Notes that a poll returned messages, or none.
    mutating func polled(at time: Duration, _ now: Timestamp) {
        // The clock may have been set back.
        lastPauseEnd = isPaused(at: time) ? now : lastPauseEnd.map { min($0, now) }
        lastPoll = time
    }

    /// Whether polls came at their interval since a time on the wall clock, and still do.
    func isSteady(since start: Timestamp, at time: Duration) -> Bool {
        !isPaused(at: time) && lastPauseEnd.map { $0 < start } ?? true
    }

    private func isPaused(at time: Duration) -> Bool {
        lastPoll.map { time - $0 > maximumInterval } ?? false
    }
}
