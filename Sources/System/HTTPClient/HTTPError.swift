import CLibCurl

/// A request without a response.
///
/// The error names neither URL nor headers nor body, since all three can hold secrets.
package struct HTTPError: Error, Hashable, Sendable {
    package enum Kind: Hashable, Sendable {
        /// The URL is not an absolute `http` or `https` URL of printable ASCII.
        case invalidURL
        /// A header name or value is invalid, for example because of a line break.
        case invalidHeader
        /// No address was found for the host's name.
        case unknownHost
        /// No process listens there, or the network does not reach it.
        case couldNotConnect
        /// The handshake failed or the certificate is not trusted.
        case tls
        /// `timeout` or `connectTimeout` has passed.
        case timedOut
        /// The peer closed or reset the connection before the response was complete.
        case connectionLost
        /// The response is not HTTP.
        case malformedResponse
        /// The body is over the request's limit, or the header over `Transfer.maximumHeaderByteCount`.
        case responseTooLarge
        /// The request may only have a kept connection (``HTTPRequest/needsKeptConnection``), and there was none.
        case noKeptConnection
        /// The task was cancelled or the client shut down.
        case cancelled
        /// Another error, by libcurl's `CURLcode`.
        case other(code: Int)
    }

    package var kind: Kind
    /// Whether any of the request may have left this machine. If not, the peer cannot have acted on it. Otherwise the outcome is unknown
    /// (RELIABILITY.md I2).
    package var requestMayHaveArrived: Bool

    package init(_ kind: Kind, requestMayHaveArrived: Bool) {
        self.kind = kind
        self.requestMayHaveArrived = requestMayHaveArrived
    }

    init(_ code: CURLcode, requestMayHaveArrived: Bool) {
        self.init(Kind(code, requestMayHaveArrived: requestMayHaveArrived), requestMayHaveArrived: requestMayHaveArrived)
    }
}

extension HTTPError.Kind: CustomStringConvertible {
    /// A phrase for operators, to follow a colon.
    package var description: String {
        switch self {
        case .invalidURL: "its address is no http or https URL"
        case .invalidHeader: "a header cannot be sent"
        case .unknownHost: "its host is unknown"
        case .couldNotConnect: "it accepts no connection"
        case .tls: "the TLS handshake failed, or its certificate is not trusted"
        case .timedOut: "it did not respond in time"
        case .connectionLost: "the connection broke before the response was complete"
        case .malformedResponse: "its response is not HTTP"
        case .responseTooLarge: "its response is too large"
        case .noKeptConnection: "it did not keep the connection open"
        case .cancelled: "the request was cancelled"
        case .other(let code): "libcurl's error \(code)"
        }
    }
}

extension HTTPError.Kind {
    fileprivate init(_ code: CURLcode, requestMayHaveArrived: Bool) {
        self =
            switch code {
            // libcurl reports "unsupported protocol" for a response without a status line too, which it takes for HTTP/0.9.
            case CURLE_UNSUPPORTED_PROTOCOL: requestMayHaveArrived ? .malformedResponse : .invalidURL
            case CURLE_URL_MALFORMAT: .invalidURL
            case CURLE_COULDNT_RESOLVE_HOST: .unknownHost
            case CURLE_COULDNT_CONNECT: .couldNotConnect
            case CURLE_SSL_CONNECT_ERROR, CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CERTPROBLEM, CURLE_SSL_CIPHER,
                CURLE_SSL_CACERT_BADFILE, CURLE_SSL_ISSUER_ERROR:
                .tls
            case CURLE_OPERATION_TIMEDOUT: .timedOut
            case CURLE_SEND_ERROR, CURLE_RECV_ERROR, CURLE_GOT_NOTHING, CURLE_PARTIAL_FILE: .connectionLost
            case CURLE_WEIRD_SERVER_REPLY, CURLE_BAD_CONTENT_ENCODING: .malformedResponse
            case CURLE_WRITE_ERROR: .responseTooLarge  // `Transfer`'s callbacks refuse data for this reason only
            case CURLE_ABORTED_BY_CALLBACK: .connectionLost  // `Transfer` forbids libcurl's silent retry
            default: .other(code: Int(code.rawValue))
            }
    }
}
