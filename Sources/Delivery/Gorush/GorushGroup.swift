import PushProtocol
import StatusCrypto
import Store
import Wire

/// The two shapes of `data`; the raw value is the setting `gorush.dataFormat` (PROTOCOL.md §10).
package enum GorushDataFormat: String, Sendable, CaseIterable {
    case rfc71
    case statusGo = "status-go"
}

/// Pushes of one request that share a notification, and succeed or fail together.
struct GorushGroup: Sendable {
    /// 500 tokens: FCM refuses a notification with more (GORUSH.md §2.4 a).
    static let maximumPushCount = 500

    private let format: GorushDataFormat
    private let template: NotificationTemplate
    private let parts: SharedParts
    /// The pushes in the order of the notification's tokens.
    private(set) var pushes: [QueuedPush] = []
    private var payloadByteCount: Int

    private init(_ parts: SharedParts, format: GorushDataFormat, template: NotificationTemplate) {
        self.format = format
        self.template = template
        self.parts = parts
        payloadByteCount =
            template.byteCount + GorushPayload.byteCount(text: parts.text, chatID: parts.chatID, message: parts.message)
    }

    /// Groups the pushes of one request. In `rfc71`, devices that share owner, platform, bundle id, text, chat and ciphertext share a
    /// notification. Devices of different owners never do, because `data` lists the installations.
    ///
    /// A group stays within ``maximumPushCount``, and within ``GorushPayload/maximumByteCount`` because each device gets all of `data`. A
    /// ciphertext or chat id that is too long for any payload is left out (`"0x"`): a notification without them is better than none
    /// (GORUSH.md §4).
    ///
    /// - Parameter oneTokenEach: whether delivery must know about each device by itself (GORUSH.md §2.4 d); in `status-go` it always can.
    /// - Returns: in the order of each group's first push; every push is in exactly one.
    static func make(
        from pushes: some Sequence<QueuedPush>, format: GorushDataFormat, template: NotificationTemplate, oneTokenEach: Bool
    ) -> [GorushGroup] {
        let sharesNotifications = format == .rfc71 && !oneTokenEach
        var groups: [GorushGroup] = []
        var openGroups: [SharedParts: Int] = [:]
        for push in pushes {
            let parts = SharedParts(of: push.push, template: template)
            if sharesNotifications {
                if let open = openGroups[parts], groups[open].hasRoom(for: push) {
                    groups[open].add(push)
                    continue
                }
                openGroups[parts] = groups.count
            }
            var group = GorushGroup(parts, format: format, template: template)
            group.add(push)
            groups.append(group)
        }
        return groups
    }

    private func hasRoom(for push: QueuedPush) -> Bool {
        pushes.count < Self.maximumPushCount
            && payloadByteCount + GorushPayload.byteCount(of: push.push.target) <= GorushPayload.maximumByteCount
    }

    private mutating func add(_ push: QueuedPush) {
        pushes.append(push)
        payloadByteCount += GorushPayload.byteCount(of: push.push.target)
    }

    /// The notification without identifier and expiry.
    var notification: GorushNotification {
        let chatID = Hex.encode(parts.chatID, prefix: "0x")
        let message = Hex.encode(parts.message, prefix: "0x")
        let targets = pushes.map(\.push.target)
        let data: GorushNotification.Content =
            switch format {
            case .rfc71: .rfc71(chatID: chatID, message: message, installationIDs: targets.map(\.installationID))
            case .statusGo:
                .statusGo(encryptedMessage: message, chatID: chatID, publicKey: Hex.encode(targets[0].keyHash.bytes, prefix: "0x"))
            }
        return GorushNotification(
            tokens: pushes.map(\.push.deviceToken), platform: parts.platform, topic: parts.topic, text: parts.text,
            threadIdentifier: template.threadsByChat ? ShortDigest.of(parts.chatID) : nil, data: data, template: template)
    }
}

/// The values that the devices of one notification share.
private struct SharedParts: Hashable {
    let publicKeyHash: Digest64
    let platform: GorushPlatform
    let topic: String?
    let text: PushText?
    let chatID: [UInt8]
    let message: [UInt8]

    init(of push: AcceptedPush, template: NotificationTemplate) {
        publicKeyHash = push.target.keyHash
        platform = push.tokenType == .apn ? .ios : .android  // no other is ever registered (PROTOCOL.md §7 row 10)
        topic = platform == .ios ? push.apnTopic : nil
        let text = template.isSilent ? nil : template.texts.text(for: push.type)
        let fixedByteCount = template.byteCount + GorushPayload.byteCount(of: push.target)
        func fits(chatID: [UInt8], message: [UInt8]) -> Bool {
            fixedByteCount + GorushPayload.byteCount(text: text, chatID: chatID, message: message)
                <= GorushPayload.maximumByteCount
        }
        self.text = text
        chatID = fits(chatID: push.chatID, message: []) ? push.chatID : []
        message = fits(chatID: chatID, message: push.message) ? push.message : []
    }
}
