package import PushProtocol
import StatusCrypto
import Wire

/// Why gorush cannot be given a push: it would fail there without a word, and a whole batch with it (GORUSH.md §2.4, §3).
package enum UnsendablePush: String, Sendable, CaseIterable {
    case platform = "no such platform"
    case deviceToken = "not a device token"
    case apnTopic = "not a bundle id"
}

extension AcceptedPush {
    /// Nil: it can be posted. Registrations are checked more loosely (PROTOCOL.md §7 rows 9 and 11).
    package var obstacle: UnsendablePush? {
        let token = deviceToken.utf8
        switch tokenType {
        case .apn:
            // Goes unescaped into a URL path.
            guard Limits.apnDeviceTokenDigitCounts.contains(token.count), token.count.isMultiple(of: 2), token.allSatisfy(Hex.isDigit)
            else { return .deviceToken }
            // Ends in an HTTP header.
            guard apnTopic.utf8.count <= Limits.maximumAPNTopicByteCount, apnTopic.utf8.allSatisfy(\.isOfBundleID) else { return .apnTopic }
        case .firebase:
            // Goes into JSON. An empty one makes Google's client refuse the notification whole; any other Google judges itself.
            guard (1...Limits.maximumDeviceTokenByteCount).contains(token.count) else { return .deviceToken }
        default:
            return .platform
        }
        return nil
    }
}

extension UInt8 {
    private var isLetterOrDigit: Bool {
        switch self {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
        default: false
        }
    }

    fileprivate var isOfBundleID: Bool { isLetterOrDigit || self == UInt8(ascii: ".") || self == UInt8(ascii: "-") }
}
