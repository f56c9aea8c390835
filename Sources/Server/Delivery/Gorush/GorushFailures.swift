import Bytes

/// A notification's failures, by device.
struct GorushFailures: Sendable {
    /// A failure and its position in `logs`. A device's last failure decides, because gorush may have tried several times.
    private typealias Entry = (position: Int, failure: GorushFailure)

    private var byToken: [DeviceToken: Entry] = [:]
    /// The last failure that concerns all devices, because it doesn't name any of them: the whole call to Google failed.
    private var ofAll: Entry?

    /// - Parameters:
    ///   - failures: The notification's failures, ordered as in gorush's response.
    ///   - tokens: The notification's devices. A single device gets all failures.
    init(_ failures: [GorushFailure], of tokens: [DeviceToken]) {
        let known = tokens.count > 1 ? Set(tokens + tokens.map(Self.masked)) : []
        for (position, failure) in failures.enumerated() {
            if let token = failure.token, !token.isEmpty, known.contains(token) {
                byToken[token] = (position, failure)
            } else {
                ofAll = (position, failure)
            }
        }
    }

    /// Returns a device's failure, or nil if the push was sent to it.
    func failure(of token: DeviceToken) -> GorushFailure? {
        guard !byToken.isEmpty else { return ofAll?.failure }
        return [byToken[token], byToken[Self.masked(token)], ofAll].compactMap(\.self).max { $0.position < $1.position }?.failure
    }

    /// Returns the token as gorush's `log.hide_token` shows it: the first and the last 10 characters become stars, wherever they occur.
    private static func masked(_ token: DeviceToken) -> DeviceToken {
        let token = token.text
        guard token.utf8.count >= 20 else { return DeviceToken(String(repeating: "*", count: token.utf8.count)) }
        let stars = String(repeating: "*", count: 10)
        return DeviceToken(token.replacing(token.suffix(10), with: stars).replacing(token.prefix(10), with: stars))
    }
}
