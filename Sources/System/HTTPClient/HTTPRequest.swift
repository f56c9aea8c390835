import Bytes

/// An HTTP request with its response's limits.
package struct HTTPRequest: HoldsSecret, Sendable {
    package enum Method: String, Sendable {
        case get = "GET"
        case post = "POST"
        case put = "PUT"
        case delete = "DELETE"
    }

    package var method: Method
    /// The absolute URL, `http` or `https`, percent-encoded: printable ASCII only.
    package var url: String
    /// The header fields in the order in which they are sent. libcurl adds `Host`, `Accept`, `User-Agent` and `Content-Length`.
    package var headers: [(name: String, value: String)]
    /// The body of any method: Waku nodes accept a JSON body with DELETE (WAKU_REST.md §1). If nil, a POST sends an empty body.
    package var body: [UInt8]?
    /// The maximum time from `send` to the response's last byte, including the wait for a free connection.
    package var timeout: Duration
    /// The maximum time for name resolution, TCP and TLS together.
    package var connectTimeout: Duration
    /// The maximum size of the response's body. A longer response fails with `HTTPError.Kind.responseTooLarge`.
    package var maximumResponseBodyByteCount: Int
    /// Requests on the same lane share a connection that no other request uses, and are sent in sequence. Nil means any connection outside
    /// of lanes.
    package var lane: Int?
    /// Whether the request fails unsent, with `noKeptConnection`, where it would need a new connection.
    package var needsKeptConnection = false
    /// Whether the request gets a new connection, which is closed after the response.
    package var isSeparate = false
    /// Whether the request fails with `couldNotConnect` at an address that is not public: for URLs that untrusted clients choose.
    package var onlyPublicAddresses = false

    package init(
        method: Method,
        url: String,
        headers: [(name: String, value: String)] = [],
        body: [UInt8]? = nil,
        timeout: Duration,
        connectTimeout: Duration = .seconds(5),
        maximumResponseBodyByteCount: Int
    ) {
        self.method = method
        self.url = url
        self.headers = headers
        self.body = body
        self.timeout = timeout
        self.connectTimeout = connectTimeout
        self.maximumResponseBodyByteCount = maximumResponseBodyByteCount
    }
}
