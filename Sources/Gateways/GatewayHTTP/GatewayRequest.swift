package import HTTPClient
import JSON

/// A request as a gateway sees it, before its body was read.
package struct GatewayRequest: Sendable {
    package enum BodyError: Error {
        case tooLarge
        /// The connection broke, or what came is not the length that was announced.
        case incomplete
    }

    package var method: String
    /// Without the query; runs of `/` are one.
    package var path: String
    /// Still encoded; without `?`.
    package var query: String
    package var headers: HTTPHeaders
    /// Who asks: the peer, or whom a trusted proxy names.
    package var client: IPAddress
    private let readBody: @Sendable (Int) async throws(BodyError) -> [UInt8]

    /// - Parameter readBody: gives the whole body, of at most so many bytes.
    package init(
        method: String, target: String, headers: HTTPHeaders, client: IPAddress,
        readBody: @escaping @Sendable (Int) async throws(BodyError) -> [UInt8]
    ) {
        self.method = method
        let parts = target.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        // Nextcloud servers and apps join a base URL and a path without looking for a slash (GATEWAY_PROTOCOLS.md, Decisions 21).
        path = String(parts.first ?? "").replacing(/\/{2,}/, with: "/")
        query = parts.count > 1 ? String(parts[1]) : ""
        self.headers = headers
        self.client = client
        self.readBody = readBody
    }

    package func body(upTo maximumByteCount: Int) async throws(BodyError) -> [UInt8] {
        try await readBody(maximumByteCount)
    }

    /// How long the body is said to be; nil: nobody said, or no number.
    package var announcedByteCount: Int? { headers["Content-Length"].flatMap { Int($0) } }

    /// The media type of the body in lower case, without parameters.
    package var contentType: String? {
        headers["Content-Type"].map { value in
            String(value.prefix { $0 != ";" }).trimmed.lowercased()
        }
    }
}

extension StringProtocol {
    /// Without spaces and tabs at its ends.
    package var trimmed: String {
        let start = drop { $0 == " " || $0 == "\t" }
        guard let last = start.lastIndex(where: { $0 != " " && $0 != "\t" }) else { return "" }
        return String(start[...last])
    }
}
