import GatewayHTTP
import Store

/// What one push to one device says, before it is encrypted.
struct Payload: Sendable, Equatable {
    typealias Kind = GatewayNotification.Kind

    var json: String
    var priority: GatewayNotification.Priority
    var kind: Kind

    /// What no phone shows.
    static func silent(_ json: String) -> Payload { Payload(json: json, priority: .normal, kind: .background) }
}

extension NoticeContent {
    /// Bytes of JSON with all names; the `…` of a subject that was shortened comes on top: 204 bytes, and OAEP has room for 214.
    static let maximumByteCount = 200
    /// A long subject is shortened by so many characters at a time, as the reference does.
    private static let shorteningStep = 5

    var json: String { json(upTo: Self.maximumByteCount) }

    /// The reference's own algorithm, step by step. Only the subject is shortened: a long app, type or id makes it longer than the bound.
    func json(upTo maximumByteCount: Int) -> String {
        // A negative one, which those leave, would let the reference shorten for ever.
        let budget = max(0, maximumByteCount - json(subject: "").utf8.count - 2)
        let scalars = Array(subject.unicodeScalars)
        var count = min(budget, scalars.count)
        while PHPJSON.string(Self.text(scalars[..<count])).utf8.count - 2 > budget { count = max(0, count - Self.shorteningStep) }
        return json(subject: count == scalars.count ? subject : Self.text(scalars[..<count]) + "…")
    }

    private func json(subject: String) -> String {
        """
        {"nid":\(nid),"app":\(PHPJSON.string(app)),"subject":\(PHPJSON.string(subject)),"type":\(PHPJSON.string(type)),\
        "id":\(PHPJSON.string(id))}
        """
    }

    private static func text(_ scalars: ArraySlice<Unicode.Scalar>) -> String { String(String.UnicodeScalarView(scalars)) }
}
