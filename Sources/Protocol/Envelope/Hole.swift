/// A period in which no server received anything on a pubsub topic, and of which no store that was listed has a message.
package struct Hole: Hashable, Sendable {
    /// The shortest hole: in a shorter one, few messages are expected, and an archive's clock may be as far off.
    package static let minimumLength = Duration.seconds(20)
    /// The age at which a hole is closed: the lifetime of push requests and queries.
    package static let lifetime = Duration.seconds(24 * 3_600)
    /// The maximum number of holes in a topic. Beyond it the shortest are closed.
    package static let maximumCount = 64

    package var period: ClosedRange<Timestamp>
    /// When it was found. What is left of it keeps this time.
    package var foundAt: Timestamp

    package init(_ period: ClosedRange<Timestamp>, foundAt: Timestamp) {
        self.period = period
        self.foundAt = foundAt
    }
}

/// The holes of a topic, and whether they were looked for everywhere.
package struct OpenHoles: Sendable {
    package var holes: [Hole]
    /// The time up to which every living server has listed the holes that were found.
    package var listedUntil: Timestamp

    package init(_ holes: [Hole], listedUntil: Timestamp) {
        self.holes = holes
        self.listedUntil = listedUntil
    }

    /// The holes that every living server has listed.
    package var listed: [Hole] { holes.filter { $0.foundAt <= listedUntil } }
}

/// What the history of a pubsub topic has come to, which is stored in one transaction.
package struct HistoryProgress: Sendable {
    package var pubsubTopic: String
    /// The node whose checkpoint this is, or nil for the only one.
    package var node: String?
    package var checkpoint: Timestamp
    /// The server's time.
    package var now: Timestamp
    /// When the server received for the first time since its start, or nil if that is stored or it started without checkpoints. Before,
    /// nothing was received since the newest checkpoint.
    package var start: Timestamp?
    /// Periods in which it received nothing.
    package var missed: [ClosedRange<Timestamp>] = []
    /// The newest period in which it received without a pause.
    package var received: ClosedRange<Timestamp>?
    /// The times of recorded messages in the listing of a store, in seconds since 1970.
    package var seconds: Set<Int64> = []
    /// When the server began to list the topic's holes, if it has now listed all.
    package var listedAt: Timestamp?

    package init(of pubsubTopic: String, at node: String? = nil, checkpoint: Timestamp, now: Timestamp? = nil) {
        self.pubsubTopic = pubsubTopic
        self.node = node
        self.checkpoint = checkpoint
        self.now = now ?? checkpoint
    }

    /// The name under which the checkpoint is stored.
    package var checkpointName: String { Self.checkpointName(of: pubsubTopic, at: node) }

    package static func checkpointName(of pubsubTopic: String, at node: String?) -> String {
        pubsubTopic + (node.map { separator + $0 } ?? "")
    }

    /// Whether a checkpoint is one of a topic, of whatever node.
    package static func isCheckpoint(_ name: String, of pubsubTopic: String) -> Bool {
        name == pubsubTopic || name.hasPrefix(pubsubTopic + separator)
    }

    private static let separator = " at "

    /// Returns the topic's holes after this.
    ///
    /// - Parameters:
    ///   - earlier: The holes before, in order.
    ///   - newestCheckpoint: The newest checkpoint of the topic before, or nil if there was none.
    package func holes(after earlier: [Hole], newestCheckpoint: Timestamp?) -> [Hole] {
        var missed = missed
        if let start, let newestCheckpoint, newestCheckpoint < start { missed.append(newestCheckpoint...start) }
        var holes = earlier
        for period in missed {
            let new = holes.reduce([period]) { pieces, hole in pieces.flatMap { $0.subtracting(hole.period) } }
            holes += new.map { Hole($0, foundAt: now) }
        }
        let times = seconds.sorted().map { Timestamp(nanoseconds: 0).advanced(by: .seconds($0)) }
        let oldest = now.advanced(by: .zero - Hole.lifetime)
        holes = holes.flatMap { hole in
            hole.period.split(at: times).flatMap { piece in received.map { piece.subtracting($0) } ?? [piece] }
                // The clock may have been set back.
                .filter { oldest < $0.upperBound && $0.lowerBound <= now }
                .map { max($0.lowerBound, oldest)...min($0.upperBound, now.latestPast) }
                .filter { $0.length >= Hole.minimumLength }
                .map { Hole($0, foundAt: min(hole.foundAt, now.latestPast)) }
        }
        return holes.sorted { $0.period.length > $1.period.length }.prefix(Hole.maximumCount)
            .sorted { $0.period.lowerBound < $1.period.lowerBound }
    }
}

extension ClosedRange<Timestamp> {
    package var length: Duration { lowerBound.duration(to: upperBound) }

    /// What is left without another period.
    func subtracting(_ other: ClosedRange<Timestamp>) -> [ClosedRange<Timestamp>] {
        guard overlaps(other) else { return [self] }
        let before = lowerBound < other.lowerBound ? [lowerBound...other.lowerBound] : []
        return before + (other.upperBound < upperBound ? [other.upperBound...upperBound] : [])
    }

    /// The periods between times, which are in order.
    func split(at times: [Timestamp]) -> [ClosedRange<Timestamp>] {
        var pieces: [ClosedRange<Timestamp>] = []
        var start = lowerBound
        for time in times where start < time && time < upperBound {
            pieces.append(start...time)
            start = time
        }
        return pieces + [start...upperBound]
    }
}
