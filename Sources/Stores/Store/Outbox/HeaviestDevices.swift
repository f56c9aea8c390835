package import Envelope
import HeapModule

/// The devices with the most waiting pushes of a queue, from the last search. They make room when the queue is full.
package struct HeaviestDevices: Sendable {
    /// How many devices a search returns.
    package static let maximumCount = 1_000
    /// Between two searches. One reads the index of all open pushes: a tenth of a second of the writer for a million.
    private static let searchInterval = Duration.seconds(10)

    private struct Entry: Comparable {
        var count: Int
        var device: DeviceCode

        static func < (left: Entry, right: Entry) -> Bool { left.count < right.count }
        static func == (left: Entry, right: Entry) -> Bool { left.count == right.count && left.device == right.device }
    }

    private var devices = Heap<Entry>()
    private var counts: [DeviceCode: Int] = [:]
    private var foundAt: Timestamp?

    package init() {}

    /// Whether the devices are to be searched, because they were found some time ago.
    package func mustSearch(at now: Timestamp) -> Bool {
        guard let foundAt, foundAt <= now else { return true }
        return foundAt.advanced(by: Self.searchInterval) <= now
    }

    package mutating func found(_ found: [(device: DeviceCode, count: Int)], at now: Timestamp) {
        devices = Heap(found.map { Entry(count: $0.count, device: $0.device) })
        counts = Dictionary(found.map { ($0.device, $0.count) }) { first, _ in first }
        foundAt = now
    }

    /// The device with the most pushes, or nil if none is left.
    package var first: (device: DeviceCode, count: Int)? { devices.max.map { ($0.device, $0.count) } }

    /// How many pushes a device has that was found, or nil for one that has few.
    package func count(of device: DeviceCode) -> Int? { counts[device] }

    /// Records that a push of the first device has ended, or that it has none that may.
    package mutating func lighten(endedCount: Int) {
        guard var first = devices.popMax() else { return }
        first.count -= endedCount
        counts[first.device] = first.count
        if first.count > 1, endedCount > 0 { devices.insert(first) }
    }

    /// Records that a device has got the slot of another one.
    package mutating func grew(_ device: DeviceCode) { counts[device]? += 1 }
}
