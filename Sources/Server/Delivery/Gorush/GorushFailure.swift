import Bytes
import FoundationEssentials
import StatusCrypto

/// An entry of `logs`: a failed push (GORUSH.md §2.4).
struct GorushFailure: Sendable, Equatable, Decodable {
    /// The `notif_id` of the attempt; nil if gorush has lost it.
    var identifier: String?
    /// Apple's or Google's reason, or the text of a network error, which contains the token: not for logs (GORUSH.md §2.4, §6).
    var error: String
    /// The device token, usually with stars in it (GORUSH.md §2.4); nil or empty if gorush did not say.
    var token: DeviceToken?

    private enum CodingKeys: String, CodingKey {
        case identifier = "notif_id"
        case error, token
    }

    /// Whether the entry concerns that token, as far as its stars leave it readable. This distinguishes the devices of one notification.
    func names(_ deviceToken: DeviceToken) -> Bool {
        guard let token, !token.isEmpty else { return false }
        return token == deviceToken || token == Self.masked(deviceToken)
    }

    /// Returns the token as gorush's `log.hide_token` shows it: the first and the last 10 characters become stars, wherever they occur.
    private static func masked(_ token: DeviceToken) -> DeviceToken {
        let token = token.text
        guard token.utf8.count >= 20 else { return DeviceToken(String(repeating: "*", count: token.utf8.count)) }
        let stars = String(repeating: "*", count: 10)
        return DeviceToken(token.replacing(token.suffix(10), with: stars).replacing(token.prefix(10), with: stars))
    }
}

extension GorushFailure: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    var description: String { "GorushFailure(identifier: \(identifier ?? "none"))" }
    var debugDescription: String { description }
    var customMirror: Mirror { Mirror(self, children: ["identifier": identifier as Any]) }
}
