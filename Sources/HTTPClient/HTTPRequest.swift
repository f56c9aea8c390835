import StatusCrypto

/// One HTTP request and the bounds within which its answer must come.
package struct HTTPRequest: HoldsSecret, Sendable {
    package enum Method: String, Sendable {
        case get = "GET"
        case post = "POST"
        case put = "PUT"
        case delete = "DELETE"
    }

    package var method: Method
    /// Absolute, `http` or `https`, percent-encoded: printable ASCII only.
    package var url: String
    /// Sent in this order, beside `Host`, `Accept`, `User-Agent` and `Content-Length`, which libcurl adds.
    package var headers: [(name: String, value: String)]
    /// Any method may have one: Waku nodes take a JSON body with DELETE (WAKU_REST.md §1). A POST without a body sends an empty one.
    package var body: [UInt8]?
    /// From `send` to the last byte of the answer, waiting for a free connection included.
    package var timeout: Duration
    /// For name resolution, TCP and TLS together.
    package var connectTimeout: Duration
    /// A longer answer is `HTTPError.Kind.responseTooLarge`.
    package var maximumResponseBodyByteCount: Int
    /// Connect to no address that is not public: for URLs that strangers choose. Elsewhere it fails with `couldNotConnect`.
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
