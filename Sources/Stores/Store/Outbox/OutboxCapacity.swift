package import Envelope

/// Decides how many pushes may wait for a route.
///
/// A quarter of the slots is reserved for proven targets, so that they get their pushes even if untrusted clients register any number of
/// devices. When the other targets have filled their share, a push to one of them takes the place of the oldest push of the device with
/// the most (``CrowdedDevices``). Pushes to unknown bundle ids have separate slots.
package struct OutboxCapacity: Sendable {
    /// How often a full queue is counted again. Counting a million rows takes the writer about 50 ms.
    private static let countInterval = Duration.seconds(10)
    /// Slots for unknown bundle ids, unless a hundredth of all slots is less. A new app needs a few until its first push is delivered.
    private static let maximumUnknownBundleIDCount = 10_000

    /// The group from which a push takes a slot.
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
        /// At least the number of waiting pushes, because it includes pushes that finished since the last count.
        var count: Int
        var countedAt: Timestamp
        var rejectedCount = 0
    }

    /// The number of slots that each route has for known bundle ids.
    package let maximumCount: Int
    private var queues: [Queue: Usage] = [:]

    package init(maximumCount: Int) {
        self.maximumCount = maximumCount
    }

    /// The number of waiting pushes in the slots of that trust from which on the queue rejects a push.
    package func limit(for trust: PushTrust) -> Int {
        switch trust {
        case .proven: maximumCount
        case .unproven, .call: maximumCount - maximumCount / 4
        case .unknownBundleID: min(Self.maximumUnknownBundleIDCount, max(1, maximumCount / 100))
        }
    }

    /// Reserves a slot in a route's queue.
    ///
    /// - Parameters:
    ///   - count: Counts the pushes that wait in these slots.
    ///   - makeRoom: Ends some of them, and returns how many. Called if devices that never worked have filled their share.
    /// - Returns: Whether a slot was free.
    package mutating func reserveSlot(
        in route: String, trust: PushTrust, at now: Timestamp, counting count: () throws -> Int, makingRoom makeRoom: () throws -> Int
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
        // More than a few too many are pushes to devices that have worked, which make no room.
        while [.unproven, .call].contains(trust), usage.count >= limit, usage.count < limit + CrowdedDevices.portion {
            let ended = try makeRoom()
            guard ended > 0 else { break }
            usage.count -= ended
        }
        guard usage.count < limit else {
            usage.rejectedCount += 1
            return false
        }
        usage.count += 1
        return true
    }

    /// The number of rejected pushes, by route. Routes without any are missing.
    package var rejectedCounts: [String: Int] {
        Dictionary(queues.filter { $0.value.rejectedCount > 0 }.map { ($0.key.route, $0.value.rejectedCount) }, uniquingKeysWith: +)
    }
}
