package struct GatewayResponse: Sendable, Equatable {
    package var status: Int
    package var contentType: String
    package var body: String
    /// The delay after which the client may retry, for 429 and 503.
    package var retryAfter: Duration?

    package init(_ status: Int, contentType: String, body: String, retryAfter: Duration? = nil) {
        self.status = status
        self.contentType = contentType
        self.body = body
        self.retryAfter = retryAfter
    }

    package static func json(_ status: Int, _ body: String) -> GatewayResponse {
        GatewayResponse(status, contentType: "application/json", body: body)
    }

    package static func text(_ status: Int, _ body: String, retryAfter: Duration? = nil) -> GatewayResponse {
        GatewayResponse(status, contentType: "text/plain; charset=utf-8", body: body + "\n", retryAfter: retryAfter)
    }

    package static let tooLarge = GatewayResponse.text(413, "Payload Too Large")
    package static let badRequest = GatewayResponse.text(400, "Bad Request")
    /// The store cannot write now. Nothing in the request was accepted.
    package static let unavailable = GatewayResponse.text(503, "Service Unavailable", retryAfter: .seconds(10))

    /// The database is at its limit or the disk is nearly full, so the server doesn't take new devices. An operator has to act, so the
    /// client retries after an hour.
    package static let storageFull = GatewayResponse.text(
        503, "Service Unavailable: the storage is full, and the server takes no new device", retryAfter: .seconds(3_600))
    package static let queueFull = GatewayResponse.text(503, "Service Unavailable: the push queue is full", retryAfter: .seconds(60))

    package static func tooManyRequests(_ retryAfter: Duration) -> GatewayResponse {
        .text(429, "Too Many Requests", retryAfter: retryAfter)
    }

    /// - Parameter error: The reason why the body could not be read.
    package init(_ error: GatewayRequest.BodyError) {
        self =
            switch error {
            case .tooLarge: .tooLarge
            case .incomplete: .badRequest
            case .crowdedOut: .unavailable
            }
    }
}

/// A protocol behind the listener.
package protocol Gateway: Sendable {
    /// - Returns: The response, or nil if the path belongs to another gateway.
    func answer(_ request: GatewayRequest) async -> GatewayResponse?
}
