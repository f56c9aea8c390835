/// What a gateway answers.
package struct GatewayAnswer: Sendable, Equatable {
    package var status: Int
    package var contentType: String
    package var body: String
    /// For 429 and 503: when to come back.
    package var retryAfter: Duration?

    package init(_ status: Int, contentType: String, body: String, retryAfter: Duration? = nil) {
        self.status = status
        self.contentType = contentType
        self.body = body
        self.retryAfter = retryAfter
    }

    package static func json(_ status: Int, _ body: String) -> GatewayAnswer {
        GatewayAnswer(status, contentType: "application/json", body: body)
    }

    package static func text(_ status: Int, _ body: String, retryAfter: Duration? = nil) -> GatewayAnswer {
        GatewayAnswer(status, contentType: "text/plain; charset=utf-8", body: body + "\n", retryAfter: retryAfter)
    }

    package static let tooLarge = GatewayAnswer.text(413, "Payload Too Large")
    package static let badRequest = GatewayAnswer.text(400, "Bad Request")
    /// The store does not take it now. Nothing of it was accepted.
    package static let unavailable = GatewayAnswer.text(503, "Service Unavailable", retryAfter: .seconds(10))

    package static func tooManyRequests(_ retryAfter: Duration) -> GatewayAnswer {
        .text(429, "Too Many Requests", retryAfter: retryAfter)
    }

    /// - Parameter error: why the body is not there.
    package init(_ error: GatewayRequest.BodyError) {
        self =
            switch error {
            case .tooLarge: .tooLarge
            case .incomplete: .badRequest
            }
    }
}

/// One of the protocols behind the listener.
package protocol Gateway: Sendable {
    /// - Returns: nil if the path is none of its own.
    func answer(_ request: GatewayRequest) async -> GatewayAnswer?
}
