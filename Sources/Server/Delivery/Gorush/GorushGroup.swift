import Bytes
import PushProtocol
import StatusCrypto
import Store
import Wire

/// Pushes from the same request that share a notification, and succeed or fail together.
struct GorushGroup: Sendable {
    /// FCM rejects a notification with more tokens (GORUSH.md §2.4 a).
    static let maximumPushCount = 500

    private let format: GorushDataFormat
    private let parts: SharedParts
    /// The pushes, ordered like the notification's tokens.
    private(set) var pushes: [QueuedPush] = []
    private var payloadByteCount: Int

    private init(_ parts: SharedParts, format: GorushDataFormat) {
        self.format = format
        self.parts = parts
        payloadByteCount = parts.payloadByteCount
    }

    /// Groups pushes from the same request. In `rfc71`, devices that share owner, platform, bundle id, template, chat and ciphertext share
    /// a notification. Devices of different owners never do, because `data` lists the installations.
    ///
    /// A group stays within ``maximumPushCount``, and within ``GorushPayload/maximumByteCount`` because each device gets all of `data`. A
    /// ciphertext or chat id that is too long for any payload is left out (`"0x"`), because a notification without them is better than none
    /// (GORUSH.md §4).
    ///
    /// - Parameter oneTokenEach: Whether delivery must know about each device by itself (GORUSH.md §2.4 d). In `status-go` it always can.
    /// - Returns: The groups, ordered by their first push. Every push is in exactly one group.
    static func make(
        from pushes: some Sequence<QueuedPush>, _ shapes: NotificationShapes, oneTokenEach: Bool
    ) -> [GorushGroup] {
        let sharesNotifications = shapes.format == .rfc71 && !oneTokenEach
        var groups: [GorushGroup] = []
        var openGroups: [SharedParts: Int] = [:]
        for push in pushes {
            let parts = SharedParts(of: push.push, shapes)
            if sharesNotifications {
                if let open = openGroups[parts], groups[open].hasRoom(for: push) {
                    groups[open].add(push)
                    continue
                }
                openGroups[parts] = groups.count
            }
            var group = GorushGroup(parts, format: shapes.format)
            group.add(push)
            groups.append(group)
        }
        return groups
    }

    private func hasRoom(for push: QueuedPush) -> Bool {
        pushes.count < Self.maximumPushCount
            && payloadByteCount + byteCount(of: push.push.target) <= GorushPayload.maximumByteCount
    }

    private mutating func add(_ push: QueuedPush) {
        payloadByteCount += byteCount(of: push.push.target)
        pushes.append(push)
    }

    /// Returns what a device adds to the payload: its installation id, and a comma after another.
    private func byteCount(of target: Installation) -> Int {
        guard format == .rfc71 else { return 0 }
        let comma = pushes.isEmpty ? 0 : 1
        return GorushPayload.byteCount(ofInstallationID: target.installationID, platform: parts.platform) + comma
    }

    /// Whether the phone itself shows nothing.
    var isSilent: Bool { parts.template.isSilent }

    /// The notification without identifier and expiry.
    var notification: GorushNotification {
        let data = GorushNotification.Content(
            format, chatID: parts.chatID, message: parts.message, targets: pushes.map(\.push.target))
        return GorushNotification(
            tokens: pushes.map(\.push.deviceToken), platform: parts.platform, topic: parts.topic, text: parts.template.shownText,
            threadIdentifier: parts.template.threadsByChat ? ShortDigest.of(parts.chatID) : nil, data: data, template: parts.template)
    }
}

extension GorushNotification.Content {
    init(_ format: GorushDataFormat, chatID: [UInt8], message: [UInt8], targets: [Installation]) {
        let (chatID, message) = (Hex.encode(chatID, prefix: "0x"), Hex.encode(message, prefix: "0x"))
        self =
            switch format {
            case .rfc71: .rfc71(chatID: chatID, message: message, installationIDs: targets.map(\.installationID))
            case .statusGo:
                .statusGo(encryptedMessage: message, chatID: chatID, publicKey: Hex.encode(targets[0].keyHash.bytes, prefix: "0x"))
            }
    }
}

/// The values that a notification's devices share.
private struct SharedParts: Hashable {
    let publicKeyHash: Digest64
    let platform: GorushPlatform
    let topic: String?
    let template: NotificationTemplate
    let chatID: [UInt8]
    let message: [UInt8]
    /// The payload's size without installation ids.
    let payloadByteCount: Int

    init(of push: AcceptedPush, _ shapes: NotificationShapes) {
        publicKeyHash = push.target.keyHash
        platform = push.tokenType == .apn ? .ios : .android  // no other is ever registered (PROTOCOL.md §7 row 10)
        topic = platform == .ios ? push.apnTopic : nil
        let kind = PushKind(push.type)
        template = shapes[kind]
        let emptyByteCount = shapes.emptyByteCount(platform, kind)
        let ownByteCount =
            shapes.format == .rfc71 ? GorushPayload.byteCount(ofInstallationID: push.target.installationID, platform: platform) : 0
        func fits(chatID: [UInt8], message: [UInt8]) -> Bool {
            emptyByteCount + ownByteCount + 2 * (chatID.count + message.count) <= GorushPayload.maximumByteCount
        }
        chatID = fits(chatID: push.chatID, message: []) ? push.chatID : []
        message = fits(chatID: chatID, message: push.message) ? push.message : []
        payloadByteCount = emptyByteCount + 2 * (chatID.count + message.count)
    }
}
