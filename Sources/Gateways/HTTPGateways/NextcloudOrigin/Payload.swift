import Bytes
import Store

/// What a push to a device contains, before encryption.
struct Payload: HoldsSecret, Sendable, Equatable {
    typealias Kind = GatewayNotification.Kind

    var json: String
    var priority: GatewayNotification.Priority
    var kind: Kind

    /// A payload that the app processes without showing anything.
    static func silent(_ json: String) -> Payload { Payload(json: json, priority: .normal, kind: .background) }
}

extension NoticeContent {
    /// How long the JSON may be, names included. If the subject is shortened, `…` is added: 204 bytes, and OAEP fits 214.
    static let maximumByteCount = 200
    /// The number of characters dropped at a time from a long subject, as in the reference.
    private static let shorteningStep = 5

    var json: String { json(upTo: Self.maximumByteCount) }

    /// Returns the JSON by the reference's own algorithm. It shortens only the subject, so a long app, type or id exceeds the maximum.
    func json(upTo maximumByteCount: Int) -> String {
        // A long app, type or id leaves a negative budget, with which the reference never stops shortening.
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
