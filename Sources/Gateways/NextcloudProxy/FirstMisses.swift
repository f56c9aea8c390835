import Envelope
import Store

/// Since when devices are missed. A server hears of a device before the proxy does, so a push can overtake the registration: the device is
/// called unknown only after a while (GATEWAY_PROTOCOLS.md §2.4).
struct FirstMisses: Sendable {
    /// Kept at a time; beyond, the oldest half is forgotten. What is forgotten is called unknown later than it could be.
    static let maximumCount = 100_000

    private let grace: Duration
    private var since: [DeviceIdentifier: Timestamp] = [:]

    init(grace: Duration) {
        self.grace = grace
    }

    /// A device is not there now.
    ///
    /// - Returns: whether it was missed for so long that it may be called unknown.
    mutating func miss(_ identifier: DeviceIdentifier, at now: Timestamp) -> Bool {
        guard grace > .zero else { return true }
        if let first = since[identifier] { return first.advanced(by: grace) <= now }
        if since.count >= Self.maximumCount { forgetOldest() }
        since[identifier] = now
        return false
    }

    /// A device is there.
    mutating func forget(_ identifier: DeviceIdentifier) {
        since[identifier] = nil
    }

    private mutating func forgetOldest() {
        let times = since.values.sorted()
        let middle = times[times.count / 2]
        since = since.filter { $0.value > middle }
    }
}
