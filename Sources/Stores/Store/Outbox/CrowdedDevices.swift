package import Envelope

/// The devices that never worked and have the most waiting pushes, and how many of each make room when their share of a queue is full.
///
/// A stranger can register any number of devices and send each any number of pushes. A new phone has a few.
package struct CrowdedDevices: Sendable {
    /// How many devices a search returns.
    package static let maximumCount = 1_000
    /// How many pushes one transaction ends, which takes a few milliseconds of the writer.
    package static let portion = 64
    /// Between two searches that found little. A search reads the index of all open pushes: a tenth of a second of the writer for a
    /// million.
    private static let searchInterval = Duration.seconds(10)

    /// What is left to end, the device with the most last.
    private var excesses: [(device: DeviceCode, count: Int)] = []
    private var foundAt = Timestamp(nanoseconds: 0)
    private var nextSearch = Timestamp(nanoseconds: 0)

    package init() {}

    /// Whether the devices are to be searched: none is left, or they were found some time ago.
    package func mustSearch(at now: Timestamp) -> Bool {
        let isOld = foundAt > now || foundAt.advanced(by: Self.searchInterval) <= now
        return isOld || excesses.isEmpty && nextSearch <= now
    }

    /// Records the devices with the most waiting pushes, and lowers them to one level, so that about `room` pushes end.
    ///
    /// - Parameter counts: The devices' waiting pushes, the largest number first.
    package mutating func found(_ counts: [(device: DeviceCode, count: Int)], room: Int, at now: Timestamp) {
        var (level, total) = (counts.first?.count ?? 1, 0)
        for (index, next) in (counts.dropFirst().map(\.count) + [1]).enumerated() {
            // The devices before `next` are at the same level now.
            let drop = min(level - next, (room - total + index) / (index + 1))
            total += drop * (index + 1)
            level -= drop
            if total >= room { break }
        }
        excesses = counts.map { ($0.device, $0.count - level) }.filter { $0.count > 0 }.reversed()
        foundAt = now
        nextSearch = now.advanced(by: 2 * total < room ? Self.searchInterval : .zero)
    }

    /// Records that the devices that were found have worked, or are another route's.
    package mutating func foundNone(at now: Timestamp) { nextSearch = now.advanced(by: Self.searchInterval) }

    /// Takes the device with the most, and how many of its oldest pushes are to end now.
    package mutating func next() -> (device: DeviceCode, count: Int)? {
        guard let last = excesses.popLast() else { return nil }
        if last.count > Self.portion { excesses.append((last.device, last.count - Self.portion)) }
        return (last.device, min(last.count, Self.portion))
    }
}
