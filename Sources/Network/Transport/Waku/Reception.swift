import Envelope

/// When the server received on a pubsub topic, through any node, as far as it is not stored. The periods without are the holes of its
/// history.
struct Reception {
    /// The last time at which a node with peers delivered, on the monotonic and the wall clock.
    private var last: (time: Duration, wallTime: Timestamp)?
    /// The start of the newest period without a pause.
    private var since: Timestamp?
    private var start: Timestamp?
    /// Whether the topic had a checkpoint when the server started. Without one nothing was missed before: what a first start's catching up
    /// saves is older than the server.
    private var hasEarlierCheckpoint: Bool?
    private var missed: [ClosedRange<Timestamp>] = []

    /// Notes that a node with peers has delivered messages, or none.
    ///
    /// A pause is measured on the monotonic clock, because a step of the wall clock is none.
    mutating func received(at time: Duration, _ now: Timestamp) {
        defer { last = (time, now) }
        guard let last else { return (start, since) = (now, now) }
        let pause = time - last.time
        // The clock may have been set: nothing was received in the time that it leaves out, or had before.
        let isSet = last.wallTime.advanced(by: pause + Hole.minimumLength) < now
        since = since.map { isSet ? now : min($0, now) }
        guard pause > Hole.minimumLength else { return }
        if missed.count == Hole.maximumCount { missed.removeFirst() }
        missed.append(now.advanced(by: .zero - pause)...now)
        since = now
    }

    /// Notes whether a node found a checkpoint of the topic. The first word counts.
    mutating func loaded(hasCheckpoint: Bool) { hasEarlierCheckpoint = hasEarlierCheckpoint ?? hasCheckpoint }

    /// Adds to what is to be stored with the next checkpoint.
    func report(in progress: inout HistoryProgress) {
        progress.start = hasEarlierCheckpoint == true ? start : nil
        progress.missed = missed
        if let since, let last, since <= last.wallTime { progress.received = since...last.wallTime }
    }

    /// Forgets what was stored.
    mutating func stored(_ progress: HistoryProgress) {
        if progress.start != nil { start = nil }
        missed.removeAll { progress.missed.contains($0) }
    }
}
