import Bytes
package import HTTPClient
import JSON
import Tasks

/// A request as a gateway sees it, before its body was read.
package struct GatewayRequest: HoldsSecret, Sendable {
    package enum BodyError: Error {
        case tooLarge
        /// The connection broke, or the body was shorter than announced or too slow.
        case incomplete
        /// All bodies together took too much memory, and this one was the largest of the address that held most.
        case crowdedOut
    }

    /// How much of a body a gateway reads.
    package struct BodyLimit: Sendable {
        /// The maximum length. A longer body is rejected.
        package var maximumByteCount: Int
        /// How long a body counts as short. A longer body must arrive at a minimum speed.
        package var shortByteCount: Int
        /// Waits until a gateway may work on a longer body, which is complete.
        ///
        /// - Throws: Anything. The body is incomplete then.
        package var admit: @Sendable () async throws -> Void

        package init(
            maximumByteCount: Int, shortByteCount: Int = .max, admit: @escaping @Sendable () async throws -> Void = {}
        ) {
            self.maximumByteCount = maximumByteCount
            self.shortByteCount = shortByteCount
            self.admit = admit
        }
    }

    package var method: String
    /// Without the query. Repeated `/` count as a single `/`.
    package var path: String
    /// Still encoded. Without `?`.
    package var query: String
    package var headers: HTTPHeaders
    /// The client: the peer, or the address that a trusted proxy names.
    package var client: IPAddress
    private let readBody: @Sendable (BodyLimit) async throws(BodyError) -> [UInt8]
    private let connectionEnd: @Sendable () async -> Void

    /// - Parameters:
    ///   - connectionEnd: Returns when the client has ended its connection or when the task is cancelled. The default knows only the
    ///     latter.
    ///   - readBody: Returns the whole body within a limit.
    package init(
        method: String, target: String, headers: HTTPHeaders, client: IPAddress,
        connectionEnd: @escaping @Sendable () async -> Void = { _ = await Monitor(()).wait { _ in nil as Void? } },
        readBody: @escaping @Sendable (BodyLimit) async throws(BodyError) -> [UInt8]
    ) {
        self.connectionEnd = connectionEnd
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
        try await readBody(BodyLimit(maximumByteCount: maximumByteCount))
    }

    package func body(within limit: BodyLimit) async throws(BodyError) -> [UInt8] {
        try await readBody(limit)
    }

    /// Runs work that is of use only to a client that waits for its response.
    ///
    /// - Throws: `CancellationError` once the client has ended its connection, and what `work` throws.
    package func whileConnected<Result: Sendable>(_ work: @escaping @Sendable () async throws -> Result) async throws -> Result {
        try await withThrowingTaskGroup(of: Result.self) { group in
            group.addTask(operation: work)
            group.addTask { [connectionEnd] in
                await connectionEnd()
                throw CancellationError()
            }
            defer { group.cancelAll() }
            guard let result = try await group.next() else { throw CancellationError() }
            return result
        }
    }

    /// The body's media type in lower case, without parameters.
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
