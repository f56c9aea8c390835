import Envelope
import Store

extension OriginDevice {
    /// A device no longer gets pushes if its app password was not used for so long.
    static let maximumSilence = Duration.seconds(60 * 24 * 3_600)
    /// The maximum number of devices that get a notification, the newest first. Each costs a signature.
    static let maximumCount = 20

    /// Returns the devices that get pushes.
    static func reachable(_ devices: [OriginDevice], at now: Timestamp) -> [OriginDevice] {
        let recent = devices.filter { $0.lastSeen.map { $0.advanced(by: maximumSilence) >= now } ?? true }
        return Array(recent.sorted { ($0.createdAt, $0.tokenID) > ($1.createdAt, $1.tokenID) }.prefix(maximumCount))
    }
}
