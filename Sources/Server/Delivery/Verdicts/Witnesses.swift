import Bytes
import Envelope

/// The deliveries that show whether the route worked at a time: pushes to devices that had worked before.
///
/// A refusal is judged next to them (``testify(for:besides:provenBefore:between:)``). Times are from ``SteadyTime``, except for the times
/// at which devices were proven.
struct Witnesses: Sendable, Equatable {
    /// Enough for two and a half minutes, in which any attempt ends. Without an older delivery a refusal counts later, never earlier.
    private static let maximumCount = 300
    /// A route has a handful of apps.
    private static let maximumTopicCount = 1_000
    /// Two for each second, so that each device has another device as its witness.
    private static let countPerSecond = 2

    private struct Delivery: Sendable, Equatable {
        var target: Digest32
        var provenAt: Timestamp
        var postedAt: Timestamp
        var answeredAt: Timestamp

        /// Whether both were answered within the same second.
        func isSimultaneous(with other: Delivery) -> Bool {
            answeredAt.nanoseconds / 1_000_000_000 == other.answeredAt.nanoseconds / 1_000_000_000
        }
    }

    /// A bundle id's deliveries, ordered by response.
    private struct Log: Sendable, Equatable {
        private(set) var deliveries: [Delivery] = []

        mutating func add(_ new: Delivery) {
            let first = deliveries.lastIndex { !$0.isSimultaneous(with: new) }.map { $0 + 1 } ?? 0
            let same = deliveries.indices[first...]
            if let known = same.first(where: { deliveries[$0].target == new.target }) {
                deliveries[known] = new
            } else if same.count < Witnesses.countPerSecond {
                deliveries.append(new)
            } else if let newest = same.max(by: { deliveries[$0].provenAt < deliveries[$1].provenAt }),
                new.provenAt < deliveries[newest].provenAt
            {
                deliveries[newest] = new
            }
            if deliveries.count > Witnesses.maximumCount { deliveries.removeFirst() }
        }
    }

    private var logs: [String: Log] = [:]

    /// Records a delivery to a device. Of the deliveries within a second, those to the devices that were proven first are kept.
    mutating func record(topic: String, target: Digest32, provenAt: Timestamp, postedAt: Timestamp, answeredAt: Timestamp) {
        guard logs.count < Self.maximumTopicCount || logs[topic] != nil else { return }
        logs[topic, default: Log()].add(
            Delivery(target: target, provenAt: provenAt, postedAt: postedAt, answeredAt: answeredAt))
    }

    /// Whether another device with the bundle id, proven before a time, got a push that was posted and answered in an interval.
    func testify(
        for topic: String, besides target: Digest32, provenBefore oldest: Timestamp, between start: Timestamp, and end: Timestamp
    ) -> Bool {
        logs[topic]?.deliveries.contains {
            $0.target != target && $0.provenAt < oldest && start <= $0.postedAt && $0.answeredAt <= end
        } ?? false
    }
}
