import Bytes
import Store

/// The recent devices that Apple or Google refuses in words about them, whatever these refusals count.
///
/// Times are monotonic and count from the delivery's start.
struct RefusedDevices: Sendable {
    /// With more, numbers in messages are lower bounds.
    private static let maximumCount = 100_000

    /// Each with its token and the time of its first refusal since it last got a push; nil if an earlier process met it.
    private var devices: [DeviceCode: (token: Digest32, since: Duration)?] = [:]
    private var alternation = Alternation()

    var count: Int { devices.count }

    func contains(_ device: DeviceCode) -> Bool { devices[device] != nil }

    mutating func restore(_ device: DeviceCode) { devices[device] = .some(nil) }

    mutating func refused(_ device: DeviceCode, token: Digest32, at now: Duration) {
        guard devices.count < Self.maximumCount, devices[device] == nil else { return }
        devices[device] = (token, now)
    }

    mutating func delivered(to device: DeviceCode, token: Digest32, at now: Duration) {
        guard let refused = devices.removeValue(forKey: device), let refused, refused.token == token else { return }
        alternation.accepted(refusedSince: refused.since, at: now)
    }

    mutating func forget(_ device: DeviceCode) { devices[device] = nil }

    /// Whether the same tokens are refused and accepted in turn.
    func areInTurn(at now: Duration) -> Bool { alternation.isSeen(at: now) }
}
