import Bytes
import JSON

/// A request from the operator's backend to `/notify` (GATEWAY_PROTOCOLS.md §4.6).
struct NoticeRequest: HoldsSecret, Sendable, Equatable {
    enum Event: Sendable, Equatable {
        case notice(Notice)
        /// The numbers of revoked app passwords.
        case revoked(Set<Int64>)
    }

    static let maximumByteCount = 64 << 10
    /// The maximum number of deletes in a request. Each costs a signature for each device. A backend splits longer lists.
    private static let maximumDeleteCount = 200

    var user: String
    var event: Event

    /// - Returns: Nil unless the body is an object with a single event in the right form.
    init?(_ body: [UInt8]) {
        var (user, app): (String?, String?)
        var events: [Event] = []
        var deleted: [Int64]?
        let isRead: Void? = try? JSONReader.read(body) { reader throws(JSONError) in
            try reader.readObject { reader, key throws(JSONError) in
                switch key {
                case "uid": user = try reader.readString()
                case "app": app = try reader.readString()
                case "notification": events.append(.notice(.content(try NoticeContent(&reader))))
                case "delete" where reader.isAtString:
                    guard try reader.readString() == "all" else { throw reader.error("all or a list expected") }
                    events.append(.notice(.deleteAll))
                case "delete": deleted = try Self.numbers(&reader)
                case "revoked": events.append(.revoked(Set(try Self.numbers(&reader))))
                default: try reader.skipValue()
                }
            }
        }
        if let deleted {
            guard let app, (1...Self.maximumDeleteCount).contains(deleted.count) else { return nil }
            events.append(.notice(.delete(deleted, app: app)))
        }
        guard isRead != nil, let user, !user.isEmpty, events.count == 1 else { return nil }
        self.user = user
        event = events[0]
    }

    private static func numbers(_ reader: inout JSONReader) throws(JSONError) -> [Int64] {
        var numbers: [Int64] = []
        try reader.readArray { reader throws(JSONError) in numbers.append(try reader.readInteger()) }
        return numbers
    }
}

extension NoticeContent {
    fileprivate init(_ reader: inout JSONReader) throws(JSONError) {
        let fields = try JSONFields(reading: &reader)
        guard case .number(let nid) = fields["nid"], let nid = Int64(nid), let app = fields.string("app"), !app.isEmpty,
            let subject = fields.string("subject"), let type = fields.string("type"), let id = fields.string("id")
        else { throw reader.error("nid, app, subject, type and id expected") }
        self.init(nid: nid, app: app, subject: subject, type: type, id: id)
    }
}
