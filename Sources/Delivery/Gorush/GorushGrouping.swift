package import PushProtocol
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
    /// FCM refuses a whole notification that has more (GORUSH.md §2.4 a).
    static let maximumTokenCount = 500

    /// Groups the pushes of one request: in `rfc71` devices that share platform, topic, text, chat and ciphertext become one notification.
    ///
    /// A group stays within ``maximumTokenCount``, and within ``GorushPayload/maximumByteCount`` because each device is sent all of `data`. A ciphertext that is too long for any payload is left out (`"0x"`), and so is a chat id: better a notification without
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
        let target = GorushPayload.byteCount(of: push.target)
        func fits(chatID: [UInt8], message: [UInt8]) -> Bool {
            target + GorushPayload.byteCount(text: texts.text(for: push.type), chatID: chatID, message: message)
                <= GorushPayload.maximumByteCount
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
            GorushPayload.byteCount(text: parts.text, chatID: parts.chatID, message: parts.message)
            + GorushPayload.byteCount(of: push.target)
    }

    func hasRoom(for push: AcceptedPush) -> Bool {
        pushes.count < GorushNotification.maximumTokenCount
            && payloadByteCount + GorushPayload.byteCount(of: push.target) <= GorushPayload.maximumByteCount
    }

    mutating func add(_ push: AcceptedPush, index: Int) {
        pushes.append(push)
        indexes.append(index)
        payloadByteCount += GorushPayload.byteCount(of: push.target)
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
