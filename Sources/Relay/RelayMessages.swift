/// One HTTP request, as far as a node looks at it.
package struct RelayRequest: Sendable {
    package var method: String
    /// Path and query, as they came.
    package var target: String
    package var contentType: String?
    package var body: [UInt8] = []
    /// Where the request came in, as a multiaddress.
    var listenAddress = ""
}

/// One HTTP response: a text or JSON.
package struct RelayResponse: Sendable, Equatable {
    package enum ContentType: String, Sendable {
        case text = "text/plain"
        case json = "application/json"
    }

    package var status: Int
    package var contentType: ContentType
    package var body: String

    /// The answer to a command that was carried out.
    package static let ok = RelayResponse(status: 200, contentType: .text, body: "OK")

    package static func json(_ body: String) -> RelayResponse {
        RelayResponse(status: 200, contentType: .json, body: body)
    }

    package static func text(_ body: String) -> RelayResponse {
        RelayResponse(status: 200, contentType: .text, body: body)
    }

    /// Errors are texts, and some of them are empty.
    package static func error(_ status: Int, _ text: String = "") -> RelayResponse {
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
