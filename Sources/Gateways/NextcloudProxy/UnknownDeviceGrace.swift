import Store

/// The times when devices were first not found. A server learns of a device before the proxy does, so a push can overtake the
/// registration: the proxy reports the device as unknown only after a grace (GATEWAY_PROTOCOLS.md §2.4). Times are those of
/// a monotonic clock, because a wall clock that jumps ahead would make servers delete devices.
struct UnknownDeviceGrace: Sendable {
    /// The maximum number of devices remembered. Beyond it, the oldest half is forgotten; these are reported as unknown later than
    /// necessary.
    static let maximumCount = 100_000

    private let grace: Duration
    private var since: [DeviceIdentifier: Duration] = [:]

    init(grace: Duration) {
        self.grace = grace
    }

    /// Records that a device was not found.
    ///
    /// - Returns: Whether the grace is over, so that the device is reported as unknown.
    mutating func miss(_ identifier: DeviceIdentifier, at now: Duration) -> Bool {
        guard grace > .zero else { return true }
        if let first = since[identifier] { return now - first >= grace }
        if since.count >= Self.maximumCount { forgetOldest() }
        since[identifier] = now
        return false
    }

    /// Forgets a device that is registered now.
    mutating func forget(_ identifier: DeviceIdentifier) {
        since[identifier] = nil
    }

    private mutating func forgetOldest() {
        let times = since.values.sorted()
        let middle = times[times.count / 2]
        since = since.filter { $0.value > middle }
    }
}
