import JSON
import PushProtocol

/// How large the payload is that APNs or FCM gets from gorush (GORUSH.md §4, §5), in Go's JSON.
///
/// The size is exact for APNs. FCM does not say what it counts, so everything in its message counts except the token.
enum GorushPayload {
    /// APNs and FCM both reject a larger payload, and the push would be lost (GORUSH.md §4).
    static let maximumByteCount = 4_096

    static func byteCount(of notification: GorushNotification) -> Int {
        let members = notification.members
        return byteCount(of: notification.platform == .ios ? apns(members) : fcm(members))
    }

    /// Returns what an installation id adds to the list of them, without a comma. Android has that list in a string.
    static func byteCount(ofInstallationID id: String, platform: GorushPlatform) -> Int {
        let literal = "\"\(escaped(id))\""
        return platform == .ios ? literal.utf8.count : escaped(literal).utf8.count
    }

    /// A notification's remaining members are headers for APNs, or belong to Android.
    private static let apsNames = [
        "badge": "badge", "category": "category", "content_available": "content-available", "interruption_level": "interruption-level",
        "mutable_content": "mutable-content", "sound": "sound", "thread-id": "thread-id",
    ]

    private static func apns(_ members: [String: JSON]) -> JSON {
        var aps: [String: JSON] = [:]
        for (name, apsName) in apsNames {
            // Flags are there or not, and are written as 1.
            aps[apsName] = members[name].map { if case .flag = $0 { .number(1) } else { $0 } }
        }
        var alert: [String: JSON] = if case .object(let alert)? = members["alert"] { alert } else { [:] }
        if let title = members["title"] { alert["title"] = title }
        if alert.isEmpty {
            aps["alert"] = members["message"]
        } else {
            alert["body"] = alert["body"] ?? members["message"]
            aps["alert"] = .object(alert)
        }
        var payload = data(members)
        payload["aps"] = .object(aps)
        return .object(payload)
    }

    private static func fcm(_ members: [String: JSON]) -> JSON {
        var message: [String: JSON] = [:]
        message["android"] = members["android"]
        var shown: [String: JSON] = [:]
        shown["title"] = members["title"]
        shown["body"] = members["message"]
        if !shown.isEmpty { message["notification"] = .object(shown) }
        // A list becomes a string with its JSON text. The only list contains installation ids, which are counted separately.
        message["data"] = .object(
            data(members).mapValues { value in
                guard case .list = value else { return value }
                return .text(String(decoding: value.bytes, as: UTF8.self))
            })
        return .object(message)
    }

    private static func data(_ members: [String: JSON]) -> [String: JSON] {
        if case .object(let data)? = members["data"] { data } else { [:] }
    }

    private static func byteCount(of value: JSON) -> Int {
        switch value {
        case .text(let text): 2 + escaped(text).utf8.count
        case .number, .flag: value.bytes.count
        case .list(let elements): 2 + max(0, elements.count - 1) + elements.reduce(0) { $0 + byteCount(of: $1) }
        case .object(let members):
            2 + max(0, members.count - 1) + members.reduce(0) { $0 + byteCount(of: .text($1.key)) + 1 + byteCount(of: $1.value) }
        }
    }

    /// Returns a text as Go writes it between the quotes: `<`, `>`, `&` and control characters as `\u00xx`.
    private static func escaped(_ text: String) -> String {
        guard text.utf8.contains(where: mayNeedEscape) else { return text }
        return text.unicodeScalars.reduce(into: "") { escaped, scalar in
            switch scalar {
            case "\"", "\\": escaped += "\\\(scalar)"
            case "\n": escaped += "\\n"
            case "\r": escaped += "\\r"
            case "\t": escaped += "\\t"
            case "<", ">", "&", "\0"..<" ", "\u{2028}", "\u{2029}": escaped += "\\u0000"
            default: escaped.unicodeScalars.append(scalar)
            }
        }
    }

    private static func mayNeedEscape(_ byte: UInt8) -> Bool {
        switch byte {
        case 0..<0x20, 0x80..., UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "<"), UInt8(ascii: ">"), UInt8(ascii: "&"): true
        default: false
        }
    }
}
