import Envelope
import WakuREST

/// Notices outages of a node that are long enough to look for a hole in its store.
struct OutageWatch {
    /// The shortest outage that is checked: in a shorter one, few messages are expected on a quiet shard.
    static let minimumLength = Duration.seconds(20)

    private var start: Timestamp?

    /// - Returns: The outage that has ended, or nil. Its last seconds are left out, because the node was back before the poll that found
    ///   it.
    mutating func note(_ reception: TopicPoll.Reception, at now: Timestamp) -> ClosedRange<Timestamp>? {
        guard case .gap = reception else {
            start = now
            return nil
        }
        defer { start = nil }
        guard let start, start.duration(to: now) > Self.minimumLength else { return nil }
        return start...now.advanced(by: .zero - TopicPoll.maximumDelay)
    }
}

/// Checks whether a node's store has the messages of an outage. A node that was only unreachable for the server has them. A node that was
/// down lacks them until it has fetched them from its peers (WAKU_REST.md §2.4). Results go in, the next query comes out.
struct OutageCheck {
    /// The time before the outage that shows how busy the shard is, and the number of messages in it from which on a time without any is
    /// suspicious: one a minute.
    static let period = Duration.seconds(3_600)
    static let minimumCount = 60
    /// The time between two looks. `--store-sync` runs every five minutes.
    static let interval = Duration.seconds(60)
    /// The time after the outage in which a node still fetches messages: the hour that `--store-sync` covers.
    static let lifetime = Duration.seconds(3_600)

    enum Step: Equatable {
        /// Count the rows of this query, after a delay.
        case count(StoreQuery, after: Duration)
        case end
    }

    private let outage: ClosedRange<Timestamp>
    private let pubsubTopic: String
    private let end: Timestamp
    private var isBusy = false
    private(set) var step = Step.end
    /// Whether the store has no message of the outage.
    private(set) var hasHole = false

    /// - Parameter now: The end of the outage.
    init(_ outage: ClosedRange<Timestamp>, pubsubTopic: String, at now: Timestamp) {
        self.outage = outage
        self.pubsubTopic = pubsubTopic
        end = now.advanced(by: Self.lifetime)
        step = .count(query(outage.lowerBound.advanced(by: .zero - Self.period)...outage.lowerBound, Self.minimumCount), after: .zero)
    }

    /// - Parameter rowCount: The number of rows, or nil if the store did not respond.
    mutating func note(rowCount: Int?, at now: Timestamp) {
        guard case .count(let query, _) = step else { return }
        guard let rowCount else { return look(query, after: Self.interval, at: now) }
        if !isBusy {
            guard rowCount >= Self.minimumCount else { return step = .end }
            isBusy = true
            return look(self.query(outage, 1), after: .zero, at: now)
        }
        hasHole = rowCount == 0
        hasHole ? look(query, after: Self.interval, at: now) : (step = .end)
    }

    private mutating func look(_ query: StoreQuery, after delay: Duration, at now: Timestamp) {
        // The clock may have been set back.
        let isOver = now >= end || end > now.advanced(by: Self.lifetime)
        if isOver { hasHole = false }
        step = isOver ? .end : .count(query, after: delay)
    }

    private func query(_ period: ClosedRange<Timestamp>, _ count: Int) -> StoreQuery {
        var query = StoreQuery()
        query.pubsubTopic = pubsubTopic
        (query.startTime, query.endTime) = (period.lowerBound, period.upperBound)
        query.includesData = false
        query.pageSize = count
        return query
    }
}
