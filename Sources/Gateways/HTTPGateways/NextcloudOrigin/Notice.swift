import Bytes
import Store

/// An event at the operator's backend for a user's devices (GATEWAY_PROTOCOLS.md §4.5).
package enum Notice: HoldsSecret, Sendable, Equatable {
    case content(NoticeContent)
    /// The apps remove these notifications.
    case delete([Int64], app: String)
    case deleteAll
}

/// A notification.
package struct NoticeContent: HoldsSecret, Sendable, Equatable {
    package var nid: Int64
    package var app: String
    /// The text to show. A line break separates title and text.
    package var subject: String
    package var type: String
    package var id: String

    package init(nid: Int64, app: String, subject: String, type: String, id: String) {
        self.nid = nid
        self.app = app
        self.subject = subject
        self.type = type
        self.id = id
    }
}

extension Notice {
    /// The maximum number of notifications that a push to Talk removes.
    private static let deletesAtATime = 10

    /// The app that the event concerns, or nil for all apps.
    private var app: String? {
        switch self {
        case .content(let content): content.app
        case .delete(_, let app): app
        case .deleteAll: nil
        }
    }

    private static func isTalk(_ app: String) -> Bool { ["spreed", "talk", "admin_notification_talk"].contains(app) }
    private static func isUrgent(_ app: String) -> Bool { isTalk(app) || ["twofactor_nextcloud_notification", "phonetrack"].contains(app) }

    /// Returns the devices for the event. Talk's events go to devices with Talk, or to all devices if the user doesn't have Talk. Other
    /// events never go to devices with Talk.
    func choose(from devices: [OriginDevice]) -> [OriginDevice] {
        guard let app else { return devices }
        let talk = devices.filter { $0.appType == .talk }
        return Self.isTalk(app) && !talk.isEmpty ? talk : devices.filter { $0.appType != .talk }
    }

    /// Returns the payloads for a device, in the order in which they are sent.
    func payloads(for appType: AppType) -> [Payload] {
        switch self {
        case .content(let content):
            let kind: Payload.Kind = Self.isTalk(content.app) && content.type == "call" ? .voip : .alert
            return [Payload(json: content.json, priority: Self.isUrgent(content.app) ? .high : .normal, kind: kind)]
        case .deleteAll:
            return [.silent(#"{"delete-all":true}"#)]
        case .delete(let ids, _):
            // Only Talk's apps can remove several with a single push.
            let count = appType == .talk ? Self.deletesAtATime : 1
            return stride(from: 0, to: ids.count, by: count).map { start in
                let part = ids[start..<min(start + count, ids.count)].map(String.init)
                return part.count == 1
                    ? .silent(#"{"nid":\#(part[0]),"delete":true}"#)
                    : .silent(#"{"nids":[\#(part.joined(separator: ","))],"delete-multiple":true}"#)
            }
        }
    }
}
