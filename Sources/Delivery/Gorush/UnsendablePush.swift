import PushProtocol
import StatusCrypto
import Wire

/// Why gorush cannot be given a push: it would fail there without a word, and a whole batch with it (GORUSH.md §2.4, §3).
enum UnsendablePush: String, Sendable {
    case platform = "no such platform"
    case deviceToken = "not a device token"
    case apnTopic = "not a bundle id"

    /// Nil: it can be posted. Registrations are checked more loosely (PROTOCOL.md §7 rows 9 and 11).
    init?(_ push: AcceptedPush) {
        let token = push.deviceToken.text
        switch push.tokenType {
        case .apn where !ProtocolLimits.apnDeviceTokenDigitCounts.contains(token.utf8.count) || Hex.decode(token) == nil:
            // It goes unescaped into a URL path.
            self = .deviceToken
        case .apn
        where push.apnTopic.utf8.count > ProtocolLimits.maximumAPNTopicByteCount || !push.apnTopic.utf8.allSatisfy(Self.isOfBundleID):
            // It ends in an HTTP header.
            self = .apnTopic
        case .firebase where token.isEmpty || token.utf8.count > ProtocolLimits.maximumDeviceTokenByteCount:
            // It goes into JSON. An empty one makes Google's client refuse the notification whole; any other Google judges itself.
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
