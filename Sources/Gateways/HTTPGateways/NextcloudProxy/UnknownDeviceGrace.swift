import Bytes
import StatusCrypto
import Store

/// The times when devices were first not found. A server learns of a device before the proxy does, so a push can overtake the registration.
/// Therefore the proxy reports the device as unknown only after a grace (GATEWAY_PROTOCOLS.md §2.4). Times are monotonic, because a wall
/// clock that jumps ahead would make servers delete devices.
struct UnknownDeviceGrace: Sendable {
    /// The maximum number of devices remembered. Beyond it, the oldest half is forgotten. These are reported as unknown later than
    /// necessary.
    static let maximumCount = 100_000

    /// A device under a notification's token hash. Only the device and its server know the hash, so misses that a client invents for an
    /// identifier do not use up its owner's grace.
    struct UnknownDevice: Hashable, Sendable {
        let identifier: DeviceIdentifier
        private let tokenHashDigest: Digest32

        /// - Parameter tokenHash: The notification's text, of any length.
        init(_ identifier: DeviceIdentifier, tokenHash: String) {
            self.identifier = identifier
            tokenHashDigest = SHA256.hash(Array(tokenHash.utf8))
        }
    }

    private let grace: Duration
    private var since: [UnknownDevice: Duration] = [:]

    init(grace: Duration) {
        self.grace = grace
    }

    /// Records that a device was not found.
    ///
    /// - Returns: Whether the grace is over, so that the device is reported as unknown.
    mutating func miss(_ miss: UnknownDevice, at now: Duration) -> Bool {
        guard grace > .zero else { return true }
        if let first = since[miss] { return now - first >= grace }
        if since.count >= Self.maximumCount { forgetOldest() }
        since[miss] = now
        return false
    }

    /// Forgets a device's misses, because it is registered now.
    mutating func forget(_ device: ProxyDevice) {
        since[UnknownDevice(device.identifier, tokenHash: device.pushTokenHash.description)] = nil
    }

    private mutating func forgetOldest() {
        let times = since.values.sorted()
        let middle = times[times.count / 2]
        since = since.filter { $0.value > middle }
    }
}
