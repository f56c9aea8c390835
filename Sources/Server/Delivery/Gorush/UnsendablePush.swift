import Bytes
import PushProtocol
import Store
import Wire

/// Why a push cannot be posted. gorush would silently drop it, and its whole batch with it (GORUSH.md §2.4, §3).
enum UnsendablePush: Sendable {
    case platform
    case deviceToken
    case apnTopic

    var reason: PushReason {
        switch self {
        case .platform: .noSuchPlatform
        case .deviceToken: .invalidDeviceToken
        case .apnTopic: .invalidBundleID
        }
    }

    /// Creates the reason, or nil if the push can be posted. The checks of registrations are looser (PROTOCOL.md §7 rows 9 and 11).
    init?(_ push: AcceptedPush) {
        let token = push.deviceToken.text
        switch push.tokenType {
        case .apn where !ProtocolLimits.apnDeviceTokenDigitCounts.contains(token.utf8.count) || Hex.decode(token) == nil:
            // Apple's token goes into a URL path without escaping.
            self = .deviceToken
        case .apn
        where push.apnTopic.utf8.count > ProtocolLimits.maximumAPNTopicByteCount || !push.apnTopic.utf8.allSatisfy(Self.isOfBundleID):
            // The bundle id becomes an HTTP header.
            self = .apnTopic
        case .firebase where token.isEmpty || token.utf8.count > ProtocolLimits.maximumDeviceTokenByteCount:
            // Google's client refuses a notification with an empty token. Google itself judges all others.
            self = .deviceToken
        case .apn, .firebase:
            return nil
        default:
            self = .platform
        }
    }

    private static func isOfBundleID(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "."), UInt8(ascii: "-"):
            true
        default: false
        }
    }
}
