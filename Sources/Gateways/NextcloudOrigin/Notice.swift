import Store

/// What happened at the operator's backend, for one user's devices (GATEWAY_PROTOCOLS.md §4.5).
package enum Notice: Sendable, Equatable {
    case content(NoticeContent)
    /// These notifications are no longer to be shown.
    case delete([Int64], app: String)
    case deleteAll
}

/// A notification.
package struct NoticeContent: Sendable, Equatable {
    package var nid: Int64
    package var app: String
    /// What is shown; title and text are apart by a line break.
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
    /// Notifications that one push to Talk takes away.
    private static let deletesAtATime = 10

    /// The app that it belongs to; nil: all.
    private var app: String? {
        switch self {
        case .content(let content): content.app
        case .delete(_, let app): app
        case .deleteAll: nil
        }
    }

    private static func isTalk(_ app: String) -> Bool { ["spreed", "talk", "admin_notification_talk"].contains(app) }
    private static func isUrgent(_ app: String) -> Bool { isTalk(app) || ["twofactor_nextcloud_notification", "phonetrack"].contains(app) }

    /// Which devices hear of it: those of Talk, or else the others, of what is Talk's; never those of Talk of anything else.
    func choose(from devices: [OriginDevice]) -> [OriginDevice] {
        guard let app else { return devices }
        let talk = devices.filter { $0.appType == .talk }
        return Self.isTalk(app) && !talk.isEmpty ? talk : devices.filter { $0.appType != .talk }
    }

    /// What a device gets, in this order.
    func payloads(for appType: AppType) -> [Payload] {
        switch self {
        case .content(let content):
            let kind: Payload.Kind = Self.isTalk(content.app) && content.type == "call" ? .voip : .alert
            return [Payload(json: content.json, priority: Self.isUrgent(content.app) ? .high : .normal, kind: kind)]
        case .deleteAll:
            return [.silent(#"{"delete-all":true}"#)]
        case .delete(let ids, _):
            // Only Talk's apps know of several at a time.
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
