package import Bytes

/// A device's `pushToken` (GATEWAY_PROTOCOLS.md §2.2).
package enum PushToken: Sendable, Equatable {
    /// A token in lower-case hex. Talk for iOS sends a second token, for calls, after a space.
    case apns(normal: DeviceToken, voip: DeviceToken?)
    case fcm(DeviceToken)

    /// The number of hexadecimal digits. Apple specifies no length.
    private static let apnsDigitCounts = 64...200
    /// A token's length. Google specifies no grammar. These are the lengths of real tokens, with a margin.
    private static let fcmByteCounts = 32...4_096

    /// - Returns: Nil unless the text looks like Apple's or Google's tokens.
    package init?(_ text: String) {
        let parts = text.split(separator: " ", omittingEmptySubsequences: false)
        if parts.count <= 2, parts.allSatisfy(Self.isAPNs) {
            self = .apns(normal: DeviceToken(parts[0].lowercased()), voip: parts.count == 2 ? DeviceToken(parts[1].lowercased()) : nil)
        } else if Self.isFCM(text) {
            self = .fcm(DeviceToken(text))
        } else {
            return nil
        }
    }

    private static func isAPNs(_ text: Substring) -> Bool {
        apnsDigitCounts.contains(text.utf8.count) && text.utf8.count.isMultiple(of: 2) && text.utf8.allSatisfy(Hex.isDigit)
    }

    private static func isFCM(_ text: String) -> Bool {
        fcmByteCounts.contains(text.utf8.count)
            && text.utf8.allSatisfy { byte in
                switch Unicode.Scalar(byte) {
                case "0"..."9", "a"..."z", "A"..."Z", "_", ":", ".", "-": true
                default: false
                }
            }
    }
}
