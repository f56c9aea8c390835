package import Envelope

/// The number of pushes that may wait for a route.
///
/// A quarter of the slots is reserved for proven targets, so that they get their pushes whatever untrusted clients register. Pushes to
/// unknown bundle ids have slots of their own and take none of the others.
package struct OutboxCapacity: Sendable {
    /// The interval between two counts of a full queue: counting a million rows takes the writer about 50 ms.
    private static let countInterval = Duration.seconds(10)
    /// The slots for unknown bundle ids: a hundredth of all, at most 10,000. A new app needs a few until its first push is delivered.
    private static let maximumUnknownBundleIDCount = 10_000

    /// The slots of a queue that count together.
    package enum Slots: Sendable, Hashable, CaseIterable {
        case knownBundleIDs
        case unknownBundleIDs

        package init(_ trust: PushTrust) {
            self = trust == .unknownBundleID ? .unknownBundleIDs : .knownBundleIDs
        }
    }

    private struct Queue: Hashable {
        var route: String
        var slots: Slots
    }

    private struct Usage {
        /// An upper bound of the pushes that wait: pushes that left since the last count are still in it.
        var count: Int
        var countedAt: Timestamp
        var rejectedCount = 0
    }

    package let maximumCount: Int
    private var queues: [Queue: Usage] = [:]

    package init(maximumCount: Int) {
        self.maximumCount = maximumCount
    }

    /// The number of pushes that may wait before a push of that trust is rejected.
    package func limit(for trust: PushTrust) -> Int {
        switch trust {
        case .proven: maximumCount
        case .unproven: maximumCount - maximumCount / 4
        case .unknownBundleID: min(Self.maximumUnknownBundleIDCount, max(1, maximumCount / 100))
        }
    }

    /// Reserves a slot in the queue of a route.
    ///
    /// - Parameter count: counts the pushes that wait in these slots.
    /// - Returns: Whether a slot was free.
    package mutating func reserveSlot(
        in route: String, trust: PushTrust, at now: Timestamp, counting count: () throws -> Int
    ) rethrows -> Bool {
        let queue = Queue(route: route, slots: Slots(trust))
        let limit = limit(for: trust)
        var usage = try queues[queue] ?? Usage(count: count(), countedAt: now)
        defer { queues[queue] = usage }
        let isRecent = usage.countedAt <= now && now < usage.countedAt.advanced(by: Self.countInterval)
        if usage.count >= limit, !isRecent {
            usage.count = try count()
            usage.countedAt = now
        }
        guard usage.count < limit else {
            usage.rejectedCount += 1
            return false
        }
        usage.count += 1
        return true
    }

    /// The number of pushes that found no free slot, by route.
    package var rejectedCounts: [String: Int] {
        Dictionary(queues.filter { $0.value.rejectedCount > 0 }.map { ($0.key.route, $0.value.rejectedCount) }, uniquingKeysWith: +)
    }
}
