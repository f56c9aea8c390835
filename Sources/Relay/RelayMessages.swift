/// One HTTP request, as far as a node looks at it.
struct RelayRequest: Sendable {
    var method: String
    /// Path and query, as they came.
    var target: String
    var contentType: String?
    var body: [UInt8]

    init(method: String, target: String, contentType: String? = nil, body: [UInt8] = []) {
        self.method = method
        self.target = target
        self.contentType = contentType
        self.body = body
    }
}

/// One HTTP response: a text or JSON.
struct RelayResponse: Sendable, Equatable {
    enum ContentType: String, Sendable {
        case text = "text/plain"
        case json = "application/json"
    }

    var status: Int
    var contentType: ContentType
    var body: String

    /// The answer to a command that was carried out.
    static let ok = RelayResponse(status: 200, contentType: .text, body: "OK")

    static func json(_ body: String) -> RelayResponse {
        RelayResponse(status: 200, contentType: .json, body: body)
    }

    static func text(_ body: String) -> RelayResponse {
        RelayResponse(status: 200, contentType: .text, body: body)
    }

    /// Errors are texts, and some of them are empty.
    static func error(_ status: Int, _ text: String = "") -> RelayResponse {
        RelayResponse(status: status, contentType: .text, body: text)
    }
}

/// A response that ends a request early.
struct RelayRefusal: Error {
    var response: RelayResponse

    init(_ status: Int, _ text: String = "") {
        response = .error(status, text)
    }
}
