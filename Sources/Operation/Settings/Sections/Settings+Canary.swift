import Bytes
package import PushClient

/// The settings below `canary`.
package struct CanarySettings: Sendable {
    /// The time between two checks.
    package var interval: Duration
    /// The device that receives the pushes. Nil discards them.
    package var device: Device?
}

extension Settings {
    /// A check takes up to a few seconds, and costs a transaction or three.
    private static let minimumCanaryInterval = Duration.seconds(10)

    /// Reads the section `canary`, or nil if its interval is 0 or not set.
    static func canary(_ reader: inout SettingsReader) -> CanarySettings? {
        let interval = reader.value("canary.interval", .duration(from: .zero, to: .seconds(86_400)), default: .zero)
        let token = reader.secret("canary.deviceToken")
        let bundleID = reader.optional("canary.bundleID", .text)
        guard interval != .zero else {
            if token != nil || bundleID != nil {
                reader.report("canary.interval", "required: a duration, because canary has other settings")
            }
            return nil
        }
        if interval < minimumCanaryInterval {
            reader.report("canary.interval", "expected 0s, or at least \(minimumCanaryInterval.settingText)")
        }
        if bundleID != nil, token == nil { reader.report("canary.bundleID", "has no effect without canary.deviceToken") }
        let device = token.map { Device(deviceToken: $0, service: bundleID.map { .apn(bundleID: $0) } ?? .firebase) }
        return CanarySettings(interval: interval, device: device)
    }
}
