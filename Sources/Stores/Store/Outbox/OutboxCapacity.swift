package import Envelope

/// The number of pushes that may wait for a route.
///
/// A quarter of the slots is reserved for proven targets, so that they get their pushes whatever untrusted clients register. Pushes to
/// unknown bundle ids have slots of their own and take none of the others.
package struct OutboxCapacity: Sendable {
    /// The interval between two counts of a full queue: counting a million rows takes the writer about 50 ms.
    private static let countInterval = Duration.seconds(10)
    /// Slots for unknown bundle ids, or a hundredth of all if that is less. A new app needs a few until its first push is delivered.
    private static let maximumUnknownBundleIDCount = 10_000

    /// The group of slots that a push takes one of.
    package enum Slots: Sendable, Hashable, CaseIterable {
        case knownBundleIDs
        case unknownBundleIDs

        package init(_ trust: PushTrust) {
            self = trust == .unknownBundleID ? .unknownBundleIDs : .knownBundleIDs
        }

        /// The trusts whose pushes take these slots.
        package var levels: [PushTrust] { PushTrust.allCases.filter { Self($0) == self } }
    }

    private struct Queue: Hashable {
        var route: String
        var slots: Slots
    }

    private struct Usage {
        /// An upper bound of the waiting pushes: it includes pushes that finished since the last count.
        var count: Int
        var countedAt: Timestamp
        var rejectedCount = 0
    }

    /// The number of slots of each route for known bundle ids.
    package let maximumCount: Int
    private var queues: [Queue: Usage] = [:]

    package init(maximumCount: Int) {
        self.maximumCount = maximumCount
    }

    /// The number of waiting pushes in the slots of that trust from which on the queue rejects a push.
    package func limit(for trust: PushTrust) -> Int {
        switch trust {
        case .proven: maximumCount
        case .unproven: maximumCount - maximumCount / 4
        case .unknownBundleID: min(Self.maximumUnknownBundleIDCount, max(1, maximumCount / 100))
        }
    }

    /// Reserves a slot in the queue of a route.
    ///
    /// - Parameter count: Counts the pushes that wait in these slots.
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

    /// The number of rejected pushes, by route; routes without any are missing.
    package var rejectedCounts: [String: Int] {
        Dictionary(queues.filter { $0.value.rejectedCount > 0 }.map { ($0.key.route, $0.value.rejectedCount) }, uniquingKeysWith: +)
    }
}
