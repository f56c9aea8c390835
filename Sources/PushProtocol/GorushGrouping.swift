import StatusCrypto
import Wire

/// The two shapes of `data`; the raw value is the setting `gorush.dataFormat` (PROTOCOL.md §10).
package enum GorushDataFormat: String, Sendable, CaseIterable {
    case rfc71
    case statusGo = "status-go"
}

/// A notification and the pushes that it carries: which ones succeed or fail with it.
package struct GorushGroup: Sendable, Equatable {
    package var notification: GorushNotification
    /// Places in the array that was grouped, in the order of `notification.tokens`.
    package var indexes: [Int]
}

extension GorushNotification {
    /// Groups the pushes of one request: in `rfc71` devices that share platform, topic, text, chat and ciphertext become one notification.
    ///
    /// A group stays within `Limits.maximumTokensPerNotification`, and within `Limits.maximumPayloadByteCount` because each device is sent
    /// all of `data`. A ciphertext that is too long for any payload is left out (`"0x"`), and so is a chat id: better a notification without
    /// them than none (GORUSH.md §4).
    ///
    /// - Parameter oneTokenEach: whether delivery must know about each device by itself (GORUSH.md §2.4 d); in `status-go` it always can.
    /// - Returns: in the order of each group's first push; every push is in exactly one.
    package static func make(
        from pushes: [AcceptedPush], format: GorushDataFormat, texts: PushTexts, oneTokenEach: Bool
    ) -> [GorushGroup] {
        let sharesNotifications = format == .rfc71 && !oneTokenEach
        var groups: [Group] = []
        var openGroups: [SharedParts: Int] = [:]

        for (index, push) in pushes.enumerated() {
            let parts = SharedParts(of: push, texts: texts)
            if sharesNotifications, let open = openGroups[parts], groups[open].hasRoom(for: push) {
                groups[open].add(push, index: index)
            } else {
                openGroups[parts] = groups.count
                groups.append(Group(parts, first: push, index: index))
            }
        }
        return groups.map { GorushGroup(notification: $0.notification(format: format), indexes: $0.indexes) }
    }
}

/// What the devices of one notification have in common.
private struct SharedParts: Hashable {
    let platform: GorushNotification.Platform
    let topic: String?
    let text: String
    let chatID: [UInt8]
    let message: [UInt8]

    init(of push: AcceptedPush, texts: PushTexts) {
        platform = push.tokenType == .apn ? .ios : .android  // no other is ever registered (PROTOCOL.md §7 row 10)
        topic = platform == .ios ? push.apnTopic : nil
        text = texts.text(for: push.type)
        let target = Payload.byteCount(of: push.target)
        func fits(chatID: [UInt8], message: [UInt8]) -> Bool {
            target + Payload.byteCount(text: texts.text(for: push.type), chatID: chatID, message: message) <= Limits.maximumPayloadByteCount
        }
        chatID = fits(chatID: push.chatID, message: []) ? push.chatID : []
        message = fits(chatID: chatID, message: push.message) ? push.message : []
    }
}

private struct Group {
    let parts: SharedParts
    private(set) var pushes: [AcceptedPush]
    private(set) var indexes: [Int]
    private var payloadByteCount: Int

    init(_ parts: SharedParts, first push: AcceptedPush, index: Int) {
        self.parts = parts
        pushes = [push]
        indexes = [index]
        payloadByteCount =
            Payload.byteCount(text: parts.text, chatID: parts.chatID, message: parts.message) + Payload.byteCount(of: push.target)
    }

    func hasRoom(for push: AcceptedPush) -> Bool {
        pushes.count < Limits.maximumTokensPerNotification
            && payloadByteCount + Payload.byteCount(of: push.target) <= Limits.maximumPayloadByteCount
    }

    mutating func add(_ push: AcceptedPush, index: Int) {
        pushes.append(push)
        indexes.append(index)
        payloadByteCount += Payload.byteCount(of: push.target)
    }

    func notification(format: GorushDataFormat) -> GorushNotification {
        let chatID = Hex.encode(parts.chatID, prefix: "0x")
        let message = Hex.encode(parts.message, prefix: "0x")
        let data: GorushNotification.Content =
            switch format {
            case .rfc71:
                .rfc71(chatID: chatID, message: message, installationIDs: pushes.map(\.target.installationID))
            case .statusGo:
                .statusGo(
                    encryptedMessage: message, chatID: chatID, publicKey: Hex.encode(pushes[0].target.keyHash.bytes, prefix: "0x"))
            }
        return GorushNotification(
            tokens: pushes.map(\.deviceToken), platform: parts.platform, topic: parts.topic, message: parts.text, data: data)
    }
}

/// An upper bound for the payload that reaches APNs or FCM. It need not be exact, for ciphertexts are far below the limit or far above.
private enum Payload {
    /// Names and brackets, the 130 bytes of `publicKey` in `status-go`, and what Android's tag takes.
    private static let wrapperByteCount = 320

    static func byteCount(text: String, chatID: [UInt8], message: [UInt8]) -> Int {
        wrapperByteCount + escapedByteCount(text) + 2 * chatID.count + 2 * message.count
    }

    /// What one device adds: its installation id, which for Android is in a string within a string.
    static func byteCount(of target: Installation) -> Int {
        escapedByteCount(target.installationID) + #"\"\","#.utf8.count
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
