/// A response in Nextcloud's OCS API, version 2, which repeats its status as the HTTP status (GATEWAY_PROTOCOLS.md §4).
struct OCSResponse: Sendable {
    indirect enum Value: Sendable {
        case text(String)
        case list([Value])
        case object([(name: String, value: Value)])

        static func texts(_ texts: [String]) -> Value { .list(texts.map { .text($0) }) }
    }

    var status: Int
    /// The status code in the response body. It can differ from HTTP's.
    var statusCode: Int
    var message: String
    var data: Value

    init(_ status: Int, _ data: Value = .list([]), statusCode: Int? = nil, message: String? = nil) {
        self.status = status
        self.statusCode = statusCode ?? status
        self.message = message ?? (status < 400 ? "OK" : "")
        self.data = data
    }

    static func fault(_ fault: OriginRegistration.Fault) -> OCSResponse {
        OCSResponse(400, .object([("message", .text(fault.rawValue))]))
    }

    static let notLoggedIn = OCSResponse(401, statusCode: 997, message: "Current user is not logged in")
    static let csrf = OCSResponse(412, message: "CSRF check failed")
    static let notFound = OCSResponse(
        404,
        message: """
            Invalid query, please check the syntax. API specifications are here: \
            http://www.freedesktop.org/wiki/Specifications/open-collaboration-services.
            """)

    func answer(asJSON: Bool) -> GatewayResponse {
        let result = status < 400 ? "ok" : "failure"
        if asJSON {
            let meta = #"{"status":"\#(result)","statuscode":\#(statusCode),"message":\#(PHPJSON.string(message))}"#
            return GatewayResponse(
                status, contentType: "application/json; charset=utf-8", body: #"{"ocs":{"meta":\#(meta),"data":\#(data.json)}}"#)
        }
        let meta = Value.object([("status", .text(result)), ("statuscode", .text("\(statusCode)")), ("message", .text(message))])
        let content = Value.object([("meta", meta), ("data", data)])
        return GatewayResponse(
            status, contentType: "application/xml; charset=utf-8", body: "<?xml version=\"1.0\"?>\n" + content.xml(named: "ocs"))
    }
}

extension OCSResponse.Value {
    fileprivate var json: String {
        switch self {
        case .text(let text): PHPJSON.string(text)
        case .list(let elements): "[\(elements.map(\.json).joined(separator: ","))]"
        case .object(let members): "{\(members.map { "\(PHPJSON.string($0.name)):\($0.value.json)" }.joined(separator: ","))}"
        }
    }

    fileprivate func xml(named name: String, depth: Int = 0) -> String {
        let indent = String(repeating: " ", count: depth)
        let parts: [String]
        switch self {
        case .text(let text): return "\(indent)<\(name)>\(Self.escaped(text))</\(name)>\n"
        // List elements don't have their own names.
        case .list(let elements): parts = elements.map { $0.xml(named: "element", depth: depth + 1) }
        case .object(let members): parts = members.map { $0.value.xml(named: $0.name, depth: depth + 1) }
        }
        return parts.isEmpty ? "\(indent)<\(name)/>\n" : "\(indent)<\(name)>\n\(parts.joined())\(indent)</\(name)>\n"
    }

    /// XML cannot represent most control characters, so they are left out.
    private static func escaped(_ text: String) -> String {
        var escaped = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": escaped += "&amp;"
            case "<": escaped += "&lt;"
            case ">": escaped += "&gt;"
            case "\n", "\t", " "...: escaped.unicodeScalars.append(scalar)
            default: break
            }
        }
        return escaped
    }
}
