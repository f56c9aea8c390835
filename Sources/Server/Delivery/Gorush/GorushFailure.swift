import Bytes
import JSON

/// An entry of `logs`: a failed push (GORUSH.md §2.4).
struct GorushFailure: Sendable, Equatable {
    /// Texts from Apple, Google and Go are far shorter. What goes beyond this is dropped.
    static let maximumErrorByteCount = 2_048
    /// Longer keys can't come from a notification that this server has posted.
    private static let maximumKeyByteCount = 8_192

    /// The attempt's `notif_id`, or nil if gorush has lost it.
    var identifier: String?
    /// Apple's or Google's reason, or a network error's text. It contains the token, so it must not be logged (GORUSH.md §2.4, §6).
    var error: String
    /// The device token, usually with stars in it (GORUSH.md §2.4). Nil or empty if gorush did not say.
    var token: DeviceToken?

    init(identifier: String? = nil, error: String, token: DeviceToken? = nil) {
        self.identifier = identifier
        self.error = error
        self.token = token
    }

    /// Reads an entry. An entry without an error is not gorush's.
    init(_ reader: inout JSONReader) throws(JSONError) {
        var (identifier, error, token): (String?, String?, String?)
        try reader.readObject { reader, key throws(JSONError) in
            switch key {
            case "notif_id": identifier = try Self.key(&reader)
            case "error":
                let text = try reader.readStringBytes()
                error = String(decoding: text.prefix(Self.maximumErrorByteCount), as: UTF8.self)
            case "token": token = try Self.key(&reader)
            default: try reader.skipValue()
            }
        }
        guard let error else { throw reader.error("an entry without an error") }
        self.init(identifier: identifier, error: error, token: token.map { DeviceToken($0) })
    }

    private static func key(_ reader: inout JSONReader) throws(JSONError) -> String? {
        let text = try reader.readStringBytes()
        return text.count <= maximumKeyByteCount ? String(decoding: text, as: UTF8.self) : nil
    }
}

extension GorushFailure: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    var description: String { "GorushFailure(identifier: \(identifier ?? "none"))" }
    var debugDescription: String { description }
    var customMirror: Mirror { Mirror(self, children: ["identifier": identifier as Any]) }
}
