import Bytes
import PushProtocol

/// The two shapes of `data`. The raw value is the setting `gorush.dataFormat` (PROTOCOL.md §10).
package enum GorushDataFormat: String, Sendable, CaseIterable {
    case rfc71
    case statusGo = "status-go"
}

/// How notifications look by the settings of a route.
struct NotificationShapes: Sendable {
    let format: GorushDataFormat
    private let templates: NotificationTemplates
    /// The sizes of ``emptyByteCount(_:_:)``, which are computed once: each push needs one.
    private let emptyByteCounts: [GorushPlatform: [PushKind: Int]]

    init(_ format: GorushDataFormat, _ templates: NotificationTemplates) {
        (self.format, self.templates) = (format, templates)
        func byteCounts(_ platform: GorushPlatform) -> [PushKind: Int] {
            Dictionary(uniqueKeysWithValues: PushKind.allCases.map { ($0, Self.emptyByteCount(platform, format, templates[$0])) })
        }
        emptyByteCounts = [.ios: byteCounts(.ios), .android: byteCounts(.android)]
    }

    subscript(kind: PushKind) -> NotificationTemplate { templates[kind] }

    /// The size of the payload without chat, ciphertext and installation ids.
    func emptyByteCount(_ platform: GorushPlatform, _ kind: PushKind) -> Int { emptyByteCounts[platform]?[kind] ?? 0 }

    private static func emptyByteCount(_ platform: GorushPlatform, _ format: GorushDataFormat, _ template: NotificationTemplate) -> Int {
        let digest = String(repeating: "0", count: ShortDigest.byteCount)
        let target = Installation(keyHash: Digest64(), installationID: "")
        var empty = GorushNotification(
            tokens: [], platform: platform, text: template.shownText, threadIdentifier: template.threadsByChat ? digest : nil,
            data: GorushNotification.Content(format, chatID: [], message: [], targets: format == .rfc71 ? [] : [target]),
            template: template)
        // Placeholders of full length for the values that the delivery adds later.
        if !template.isSilent { empty.collapseIdentifier = digest }
        empty.expiry = .init(unixSeconds: 0, secondsLeft: 86_400)
        return GorushPayload.byteCount(of: empty)
    }
}
