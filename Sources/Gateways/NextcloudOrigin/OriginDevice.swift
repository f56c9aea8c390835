import Envelope
import Store

extension OriginDevice {
    /// A device whose app password was not used for so long gets nothing.
    static let maximumSilence = Duration.seconds(60 * 24 * 3_600)
    /// Devices that one notification goes to, the newest ones: each costs a signature.
    static let maximumCount = 20

    /// Those that are pushed to at all.
    static func reachable(_ devices: [OriginDevice], at now: Timestamp) -> [OriginDevice] {
        let heard = devices.filter { $0.lastSeen.map { $0.advanced(by: maximumSilence) >= now } ?? true }
        return Array(heard.sorted { ($0.createdAt, $0.tokenID) > ($1.createdAt, $1.tokenID) }.prefix(maximumCount))
    }
}
