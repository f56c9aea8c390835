/// The parts of an HTTP request that a node reads.
package struct RelayRequest: Sendable {
    package var method: String
    /// The path and query, undecoded.
    package var target: String
    package var contentType: String?
    package var body: [UInt8] = []
    /// The address that accepted the request, as a multiaddress.
    var listenAddress = ""
}

/// An HTTP response with text or JSON.
package struct RelayResponse: Sendable, Equatable {
    package enum ContentType: String, Sendable {
        case text = "text/plain"
        case json = "application/json"
    }

    package var status: Int
    package var contentType: ContentType
    package var body: String

    /// The response to a successful command.
    package static let ok = RelayResponse(status: 200, contentType: .text, body: "OK")

    package static func json(_ body: String) -> RelayResponse {
        RelayResponse(status: 200, contentType: .json, body: body)
    }

    package static func text(_ body: String) -> RelayResponse {
        RelayResponse(status: 200, contentType: .text, body: body)
    }

    /// Returns an error response. Errors are texts, some of them empty.
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
