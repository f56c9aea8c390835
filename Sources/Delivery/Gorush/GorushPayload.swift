import JSON
import PushProtocol

/// An upper bound for the payload that reaches APNs or FCM. It need not be exact, because ciphertexts are far below or far above the limit.
enum GorushPayload {
    /// APNs and FCM both refuse a larger payload, and the push would be lost (GORUSH.md §4).
    static let maximumByteCount = 4_096

    /// Names and brackets, the 130 bytes of `publicKey` in `status-go`, and Android's tag.
    private static let wrapperByteCount = 320

    static func byteCount(text: PushText?, chatID: [UInt8], message: [UInt8]) -> Int {
        let textByteCount =
            switch text {
            case .literal(let text), .localizationKey(let text): escapedByteCount(text)
            case nil: 0
            }
        return wrapperByteCount + textByteCount + 2 * chatID.count + 2 * message.count
    }

    /// Returns the bytes that one device adds: its installation id, which for Android is in a string within a string.
    static func byteCount(of target: Installation) -> Int {
        escapedByteCount(target.installationID) + #"\"\","#.utf8.count
    }

    static func byteCount(of value: JSON, named name: String) -> Int {
        let valueByteCount =
            switch value {
            case .text(let text): escapedByteCount(text) + #""""#.utf8.count
            case .number: "\(Int64.min)".utf8.count
            case .flag: "false".utf8.count
            case .list(let elements): elements.reduce(2) { $0 + byteCount(of: $1, named: "") }
            case .object(let members): members.reduce(2) { $0 + byteCount(of: $1.value, named: $1.key) }
            }
        return escapedByteCount(name) + #""":,"#.utf8.count + valueByteCount
    }

    /// Go writes `<`, `>`, `&` and control characters as `\u00xx`.
    private static func escapedByteCount(_ text: String) -> Int {
        text.utf8.reduce(0) { count, character in
            switch character {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
                UInt8(ascii: "-"), UInt8(ascii: " "):
                count + 1
            case 0x80...: count + 2  // U+2028 is 3 bytes, and 6 escaped
            default: count + 6
            }
        }
    }
}
