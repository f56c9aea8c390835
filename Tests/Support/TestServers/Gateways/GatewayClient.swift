import Foundation
package import HTTPClient
package import HTTPGateways
package import Logging
package import TestSupport

/// A peer of gateways that listen on a loopback port.
package struct GatewayClient: Sendable {
    package struct Answer: Equatable, Sendable {
        package var status: Int
        package var body: String
        package var contentType: String?
        package var retryAfter: String?

        package init(status: Int, body: String, contentType: String? = nil, retryAfter: String? = nil) {
            self.status = status
            self.body = body
            self.contentType = contentType
            self.retryAfter = retryAfter
        }

        /// The body as JSON, or nil if it is not JSON.
        package var json: JSONValue? { JSONValue(text: body) }
    }

    package static let form = "application/x-www-form-urlencoded"

    package let url: String
    private let http = HTTPClient()

    package init(url: String) {
        self.url = url
    }

    /// Opens a TCP connection to the same port.
    package func connect() throws -> RawConnection {
        guard let port = url.split(separator: ":").last.flatMap({ Int($0) }) else { throw POSIXError(.EINVAL) }
        return try RawConnection(to: port)
    }

    package func send(
        _ method: HTTPRequest.Method, _ path: String, _ body: String? = nil, type: String? = form,
        headers: [(name: String, value: String)] = []
    ) async throws -> Answer {
        let types = type.map { body == nil ? [] : [(name: "Content-Type", value: $0)] } ?? []
        let response = try await http.send(
            HTTPRequest(
                method: method, url: url + path, headers: headers + types, body: body.map { Array($0.utf8) }, timeout: TestNode.patience,
                connectTimeout: TestNode.patience, maximumResponseBodyByteCount: 32 << 20))
        return Answer(
            status: response.status, body: String(decoding: response.body, as: UTF8.self), contentType: response.headers["content-type"],
            retryAfter: response.headers["retry-after"])
    }
}

/// Runs gateways on a loopback port during the test.
package func withGateways(
    _ gateways: [any Gateway], trustedProxies: Set<IPAddress> = [], clock: any Clock<Duration> = ContinuousClock(),
    bodyByteCount: Int = GatewayServer.Configuration.defaultBodyByteCount, logger: Logger = quietLogger,
    _ test: (GatewayClient) async throws -> Void
) async throws {
    try await withListeningService {
        GatewayServer(
            configuration: .init(
                host: "127.0.0.1", port: 0, clientAddress: ClientAddress(trustedProxies: trustedProxies), bodyByteCount: bodyByteCount),
            gateways: gateways, clock: clock, logger: logger, onListening: $0)
    } _: { url in
        try await test(GatewayClient(url: url))
    }
}
