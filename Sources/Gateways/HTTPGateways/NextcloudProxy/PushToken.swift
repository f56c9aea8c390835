package import Bytes

/// A device's `pushToken` (GATEWAY_PROTOCOLS.md §2.2).
package enum PushToken: Sendable, Equatable {
    /// A token in lower-case hex. Talk for iOS sends a second token, for calls, after a space.
    case apns(normal: DeviceToken, voip: DeviceToken?)
    case fcm(DeviceToken)

    /// - Returns: Nil unless the text looks like Apple's or Google's tokens.
    package init?(_ text: String) {
        let parts = text.split(separator: " ", omittingEmptySubsequences: false)
        if parts.count <= 2, parts.allSatisfy(DeviceToken.isAPNs) {
            self = .apns(normal: DeviceToken(parts[0].lowercased()), voip: parts.count == 2 ? DeviceToken(parts[1].lowercased()) : nil)
        } else if DeviceToken.isFCM(text) {
            self = .fcm(DeviceToken(text))
        } else {
            return nil
        }
    }
}
