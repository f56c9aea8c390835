package import Envelope

/// The group from which a push takes its slot in a route's queue.
package struct OutboxSlot: Sendable, Hashable {
    package enum Group: Sendable, Hashable, CaseIterable {
        case knownBundleIDs
        case unknownBundleIDs
        case calls

        package init(_ trust: PushTrust) {
            self =
                switch trust {
                case .proven, .unproven: .knownBundleIDs
                case .unknownBundleID: .unknownBundleIDs
                case .call: .calls
                }
        }

        /// The trusts whose pushes take these slots.
        package var levels: [PushTrust] { PushTrust.allCases.filter { Self($0) == self } }
    }

    /// The slots of a group in a route's queue.
    package struct Queue: Sendable, Hashable {
        package var route: String
        package var group: Group

        package init(route: String, group: Group) { (self.route, self.group) = (route, group) }
    }

    package var queue: Queue
    /// Whether the push goes to a device that never worked. Anyone can register any number of those.
    package var isOfNewDevice: Bool

    package init(route: String, trust: PushTrust, hasWorked: Bool) {
        queue = Queue(route: route, group: Group(trust))
        isOfNewDevice = !hasWorked
    }
}

/// How many pushes may wait for a route, and how many do.
///
/// Devices that never worked may fill three quarters of the slots, so that others get their pushes whatever strangers register. Unknown
/// bundle ids and calls have slots of their own. The counts are those of this server: what it has queued since it last counted, without
/// what it has ended.
package struct OutboxCapacity: Sendable {
    /// A full queue is counted again after that time. Counting a million rows takes the writer about 50 ms.
    private static let countInterval = Duration.seconds(10)
    /// Slots for unknown bundle ids, unless a hundredth of all slots is less. A new app needs a few until its first push is delivered.
    private static let maximumUnknownBundleIDCount = 10_000

    private struct Usage {
        var count = 0
        /// Those of devices that never worked.
        var newCount = 0
        var countedAt: Timestamp?
    }

    /// The number of slots that each route has for known bundle ids.
    private let maximumCount: Int
    private var queues: [OutboxSlot.Queue: Usage] = [:]
    /// The number of rejected pushes, by route. Routes without any are missing.
    package private(set) var rejectedCounts: [String: Int] = [:]

    package init(maximumCount: Int) { self.maximumCount = maximumCount }

    /// The number of slots of a group: of all, and of those for devices that never worked.
    package func limits(of group: OutboxSlot.Group) -> (all: Int, new: Int) {
        switch group {
        case .knownBundleIDs: return (maximumCount, maximumCount - maximumCount / 4)
        case .unknownBundleIDs:
            let count = min(Self.maximumUnknownBundleIDCount, max(1, maximumCount / 100))
            return (count, count)
        case .calls: return (max(2, maximumCount / 8), max(1, maximumCount / 16))
        }
    }

    /// Whether three quarters of a queue's slots are taken. Devices that never worked get none beyond that.
    package func isNearlyFull(_ queue: OutboxSlot.Queue) -> Bool {
        queues[queue].map { $0.count >= limits(of: queue.group).new } ?? false
    }

    /// Takes a slot.
    ///
    /// - Returns: False if none is free, or the queue was never counted.
    package mutating func reserve(_ slot: OutboxSlot) -> Bool {
        guard var usage = queues[slot.queue], usage.countedAt != nil else { return false }
        let limits = limits(of: slot.queue.group)
        guard usage.count < limits.all, !slot.isOfNewDevice || usage.newCount < limits.new else { return false }
        usage.count += 1
        if slot.isOfNewDevice { usage.newCount += 1 }
        queues[slot.queue] = usage
        return true
    }

    /// Whether devices that never worked have not filled their part of the slots.
    package func hasRoomForNewDevices(in queue: OutboxSlot.Queue) -> Bool {
        (queues[queue]?.newCount ?? 0) < limits(of: queue.group).new
    }

    /// Gives a slot back: its push has ended, or was not queued.
    package mutating func release(_ slot: OutboxSlot) {
        guard var usage = queues[slot.queue] else { return }
        usage.count = max(0, usage.count - 1)
        if slot.isOfNewDevice { usage.newCount = max(0, usage.newCount - 1) }
        queues[slot.queue] = usage
    }

    /// Gives a slot from one push to another one of the same queue.
    package mutating func exchange(_ given: OutboxSlot, for taken: OutboxSlot) {
        guard given.isOfNewDevice != taken.isOfNewDevice, let newCount = queues[taken.queue]?.newCount else { return }
        queues[taken.queue]?.newCount = max(0, newCount + (taken.isOfNewDevice ? 1 : -1))
    }

    /// Whether a full queue is to be counted before a push is rejected.
    package func mustCount(_ queue: OutboxSlot.Queue, at now: Timestamp) -> Bool {
        guard let countedAt = queues[queue]?.countedAt, countedAt <= now else { return true }
        return countedAt.advanced(by: Self.countInterval) <= now
    }

    package mutating func counted(_ queue: OutboxSlot.Queue, _ count: Int, ofNewDevices newCount: Int, at now: Timestamp) {
        queues[queue] = Usage(count: count, newCount: newCount, countedAt: now)
    }

    package mutating func reject(in route: String) { rejectedCounts[route, default: 0] += 1 }
}
